"""`else` runs when nothing was raised, outside the handlers' reach."""
# reads otherwise: 3.8 3.9 3.10 3.11 3.12 3.13 3.14


def chosen(f, g):
    try:
        x = f()
    except ValueError:
        x = None
    else:
        g(x)
    return x


def returns(f):
    try:
        f()
    except KeyError:
        return 1
    else:
        return 2
