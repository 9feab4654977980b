# reads otherwise: 3.10+
"""Up to 3.9 compilers do not look into the value of a walrus: `not a in b` stays what it is."""


def f(a, b):
    if (c := not a in b):
        return c
    return (d := not a is b), a not in b, (e := a is not b)
