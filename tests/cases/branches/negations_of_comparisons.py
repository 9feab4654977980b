"""`not (a == b and c)`: nobody writes `not a == b or not c`."""


def one(a, b, c):
    if not (a == b and c):
        return 1
    return 2


def two(a, b, c):
    while not (a < b or c(a)):
        a += 1
    return a


def three(a, b, c, d):
    if not (a or b or c):
        raise ValueError(d)
    return d
