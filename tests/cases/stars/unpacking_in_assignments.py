"""Targets with stars, nested and on other places."""


def targets(x):
    a, b = x
    c, *d = x
    *e, f = x
    g, *h, i = x
    j, k = x
    l, (m, *n), o = x
    p, = x
    *q, = x
    return a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q


def places(x, y):
    x.a, x[0], y = y
    x.a, *x[1:] = y
    (x, y), z = y
    a = b, c = x
    return x, y, z, a, b, c


def swap(a, b, c):
    a, b = b, a
    a, b, c = c, a, b
    return a, b, c
