# reads otherwise: 3.8 3.9 3.10 3.11 3.12
def f(v):
    c, c = 0, v
    d, c, e = c, 'k', v
    return c, d, e
