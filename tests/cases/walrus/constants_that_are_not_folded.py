# reads otherwise: 3.10+
"""Up to 3.9 compilers fold no constants in the value of a walrus."""


def f(a, b):
    if (n := a - b.shape[-1]) > 0:
        return [x for x in a if (y := x[-1])]
    return (m := (1, 2)), (j := 'ab'), (i := lambda: -1), (h := not a), (g := a in b[-2:])


def outside(a):
    return a[-1], -2


def lists(a):
    return (b := a in [1, 2]), (c := [x for x in [3, a]])


def in_a_chain():
    x = (y := not b'')
    x = (y := ~5)
    x = (y := 10 ** 3)
    x = (y := 'ab'[0])
    return x, y


def in_a_chain_of_others(a):
    y = (x := lambda: -1)
    a[0] = y = (x := a[-1])
    a.b = (x := (y := ~2))
    y = x = f((x := -5))
    return x, y
