# since: 3.10
def chosen(a, b, q):
    match a and b:
        case z if q:
            f(z)
        case {}:
            f()


def chosen_by_a_test(a, b, q):
    match a if b else q:
        case z if q:
            f(z)
        case 0:
            return 5


def guard_with_a_choice(c, u, a, b):
    match u.x:
        case z if (a or b).x:
            f(z)
        case X.b as k:
            f(k)
    match u:
        case z if f(a if b else c):
            f(z)
        case 1:
            f()


def behind_a_walrus(c):
    match (k := c.x):
        case d if c:
            f(k, d)
        case d:
            f(d)
