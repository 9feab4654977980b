"""The middle of a chain is evaluated once."""


def values(a, b, c, d):
    return a < b < c, a < b <= c != d, a is b is not c, a in b in c, a == b == c == d


def tests(a, b, c, f):
    if a < b < c:
        f(1)
    if not a < b < c:
        f(2)
    while a < f(b) < c:
        a += 1
    if a < b < c and b < c < a or a == b == c:
        return 3
    return a < b < c or a


def nested(a, b, c):
    return (a < b) < c, a < (b < c), (a < b < c) == (c < b < a)


def in_places(a, b, c, f):
    f(a < b < c, x=a < b < c)
    [x for x in a if b < x < c]
    assert a < b < c
    return a if a < b < c else b
