"""Conditions as values, tests and arguments."""


def values(a, b, c):
    x = a and b
    y = a or b or c
    z = a and b or c
    w = (a or b) and c
    return x, y, z, w, not a, not (a and b)


def tests(a, b, c, f):
    if a and b:
        f(1)
    elif a or b:
        f(2)
    elif not a and (b or c):
        f(3)
    if (a or b) and (b or c):
        return 4
    if not a or (not b and not c):
        return 5
    return f(a and b, x=a or b)


def mixed(a, b, f):
    return f(a or f(b and a)) or (a if b else f) and b
