"""The end of a `finally` body is short enough to be copied into what comes to it."""


def behind_clauses(f, g, h):
    try:
        f()
    finally:
        try:
            g()
        except ValueError:
            pass
        h()
    h(f)


def behind_tests(f, g, h):
    try:
        f()
    finally:
        if not g() or h() and f:
            h(g)
    return f


def with_several_stores(f, x):
    if f():
        a = b = f(x)
        if f(a):
            b = 3
    return f(b)
