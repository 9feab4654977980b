a = b = c and d
a = b = c if d else e
(p <= q in r).name += s
(p or q)[r and s] -= t


def f(x, y):
    a = b = x or y
    return a + b
