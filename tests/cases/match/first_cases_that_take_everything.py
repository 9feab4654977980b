"""A name or `_` with a guard before other cases; subjects that are chosen or named."""
# since: 3.10


def names(x, a):
    match x:
        case n if n > 10 and (a or n):
            return n
        case n if a:
            return -n
        case 3:
            return 3


def nothing(x, a):
    match x:
        case _ if not a:
            return 0
        case 1 as y if a.b:
            return y
        case _ if a > 1 or a < -1:
            return 2
        case 2 | 3:
            return 3


def never(x, g):
    match x:
        case 0 if False:
            pass
        case 0 as y:
            g(y)
    g(x)


def chosen(x, g):
    match g(x) if g else x:
        case [1]:
            return 1
        case [2]:
            return 2


def named(g):
    match x := g():
        case 1:
            return x
        case 2:
            return -x


def forever(g):
    while True:
        match g():
            case 0:
                return g
            case other:
                g = other


def no_match(a, b, c, x):
    if a == b == 1:
        return 1
    if a is b is None and c:
        return 2
    return (a == 1) == x
