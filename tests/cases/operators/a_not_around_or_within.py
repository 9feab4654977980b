"""`not (a and b)` jumps as `not a or not b` does; columns say which word was written."""
# reads otherwise: 3.8 3.9 3.10


def around(a, b, c, f):
    if not (a and b):
        f(1)
    if not (a or b):
        f(2)
    while not (a and b and c):
        f(3)
    assert not (a is None and b)
    return f(4) if not (a or not b) else f(5)


def within(a, b, c, f):
    if not a or not b:
        f(1)
    if not a and not b:
        f(2)
    while not a or not b or not c:
        f(3)
    assert a is not None or not b
    return f(4) if not a and b else f(5)


def values(a, b):
    return not (a and b), not a or not b
