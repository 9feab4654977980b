"""`x if y else z` in every place."""


def values(a, b, c):
    x = a if b else c
    y = a if b else b if c else a
    z = (a if b else c) if c else a
    return a if a and b else b or c


def places(a, b, f):
    f(a if b else None, *(a if b else b), x=a if b else 1)
    a[b if a else 0] = b if a else a
    (a if b else f).x = 1
    (f if a else b)(a)
    return [a if b else b, {a if b else b: a}]


def tests(a, b, c, f):
    if a if b else c:
        f(1)
    while f(a) if b else c:
        f(2)
    return lambda: a if b else c


def calls(a, f):
    (f(1) if a else f(2))
    return (f if a else None)(a if f else 0)
