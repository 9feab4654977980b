"""Conditional expressions whose tests have a `not` among their operands."""


def first(a, b, f):
    return [1 if a and not word else 2 if b and word == 3 else f(word) for word in f]


def second(a, b, f):
    return f(a if a and not b else f(b), 1)


def third(a, b, f):
    if not f or (b and a):
        f = 1 if a or not b else 2
    return f
