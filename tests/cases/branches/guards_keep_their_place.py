"""What leaves early comes first, and the rest is not nested."""


def guard(x, f):
    if x is None:
        return
    if x not in f:
        raise KeyError(x)
    f(x)


def values(x):
    if x < 0:
        return -1
    if x > 0:
        return 1
    return 0
