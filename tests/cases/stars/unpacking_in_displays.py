"""Stars in lists, tuples, sets, dictionaries and calls."""
# reads otherwise: 3.14+


def displays(a, b, f):
    x = [*a], [1, *a, 2, *b], (*a,), (*a, *b), {*a}, {*a, 1}
    y = {**a}, {'x': 1, **a, 'y': 2, **b}, {**a, 'z': f(*a)}
    return x, y


def subscripts(a, b):
    return a[(*b,)], a[1, 2], a[b, 1:2]


def loops(a, b, f):
    for x in (*a, *b):
        f(x)
