"""`yield` as a statement, a value, an argument and a part of others."""


def statement():
    yield
    yield 1
    yield 1, 2


def value():
    x = yield
    y = yield x
    z = (yield x) + (yield y)
    return z


def argument(f):
    f((yield), x=(yield 1))
    x = [(yield), (yield 2)]
    return (yield x)


def starred(x):
    yield (*x, 1)


def in_conditions(x):
    if (yield):
        return None
    while (yield x):
        x += 1
    return x if (yield) else None
