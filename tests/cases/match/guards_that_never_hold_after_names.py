"""Nothing is left of such a case but that it binds its name."""
# since: 3.10


def bound_twice(u, q):
    match u:
        case x if False:
            pass
        case x if q:
            f(x)
        case []:
            f()


def bound_by_the_last(u, q):
    match (u, q):
        case [*x] if q:
            f()
        case x if False:
            pass
        case x:
            f(x)


def in_front_of_a_test(u):
    match u:
        case 0:
            f()
        case x if False:
            pass
        case C():
            f(x)
