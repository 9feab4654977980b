"""The body of the first case is gone: it went straight to the next round."""
# since: 3.10


def in_a_loop(u, q):
    for k in u:
        match k.x:
            case c if q:
                pass
            case 0:
                f(c)
            case {}:
                pass


def in_a_loop_that_tests(u, q):
    while u:
        match u.x:
            case c if q:
                pass
            case {}:
                raise
            case None:
                pass


def two_names(u, q, r):
    for k in u:
        match k.x:
            case c if q:
                pass
            case c if r:
                f(c)
            case 0:
                f()
            case []:
                pass
