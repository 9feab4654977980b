"""`try` with both `except` and `finally` is compiled as two statements, one in the other."""


def both(f, g, h):
    try:
        f()
    except ValueError:
        g()
    finally:
        h()


def with_else(f, g, h):
    try:
        f()
    except ValueError:
        g()
    else:
        f(1)
    finally:
        h()
