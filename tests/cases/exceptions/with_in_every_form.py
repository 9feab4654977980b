"""Context managers, their targets, and ways out of them."""


def plain(a, f):
    with a:
        f()


def target(a, b, f):
    with a as x:
        f(x)
    with a as b.x, a as b[0]:
        f(b)
    with a as (x, y):
        f(x, y)


def leaves(a, items, f):
    for item in items:
        with a as x:
            if x:
                break
            f(item)
    f(x)


def raises(a):
    with a:
        raise ValueError


def nested(a, b, c, f):
    with a:
        with b as x:
            f(x)
        f(b)
    with c(a, key=b) as z:
        try:
            f(z)
        except OSError:
            pass
