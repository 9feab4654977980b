"""Subscripts with one part to three, and several."""


def reads(x, a, b, c):
    return x[a], x[:], x[a:], x[:b], x[a:b], x[::c], x[a:b:c], x[-1], x[1:2], x[a:b, c], x[:, None]


def writes(x, a, b):
    x[a] = b
    x[:] = b
    x[a:b] = a, b
    x[1:2] = [3]
    x[a:b:2] += b
    x[a][b] = x[b][a]
    del x[a:], x[::2]


def nested(x, a):
    return x[x[a]:x[a + 1]], x[a][1:][0], x[a, 1:2, ...], x[(1, 2)], x[()]
