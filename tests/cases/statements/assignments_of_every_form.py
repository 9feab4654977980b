"""Chains, attributes, items and tuples."""


def chains(x, f):
    a = b = c = f()
    x.a = x.b = a
    x[0] = x[1] = y = b
    a = x.a = c
    return a, b, c, y


def several(x):
    a, b = 1, 2
    c = d, e = x
    f, g = h = x
    return a, b, c, d, e, f, g, h
