"""Compilers make one constant of functions that are equal, wherever they are used."""


def both(f, u, v):
    return f(lambda: [a for a in u if a], lambda: 1, lambda: 1)


def generators(f, u, v):
    return f(lambda: (a for a in b), lambda: (a for a in c), (a for a in d))


def conditions(f, u, v):
    return f(lambda: {0: 0 for y in u if (a for a in b if not a.x < 3)}, [y for y in v if (a for a in c if not a.x < 3)])


def nested(f):
    return f(lambda: lambda: [x for x in y], lambda: lambda: [x for x in y], lambda: f or (lambda: [x for x in y]))
