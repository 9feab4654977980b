"""The last case that tests anything takes everything, if its guard holds."""
# since: 3.10


def returned(e, g):
    match e:
        case A():
            return 1
        case _ if g(e):
            return 2
        case _:
            return 3


def called(e, g):
    match e:
        case A():
            g()
        case _ if not g(e):
            g(1)
        case _:
            g(2)
    return g(e, e, e.a, e.b)


def two_conditions(e, g, a):
    match e:
        case A():
            g()
        case [1, _]:
            g(0)
        case _ if g(e) and a:
            g(1)
        case _:
            if g(a):
                g(2)
    return g(e, e, e.a, e.b)
