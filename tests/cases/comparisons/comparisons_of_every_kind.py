"""All operators, and how they are negated."""


def operators(a, b):
    return a < b, a <= b, a == b, a != b, a > b, a >= b, a is b, a is not b, a in b, a not in b


def negated(a, b, f):
    if not a < b:
        f(1)
    if not a == b:
        f(2)
    if a is not None and b not in a:
        f(3)
    if a is None or b in a:
        f(4)
    return not a < b, not a == b
