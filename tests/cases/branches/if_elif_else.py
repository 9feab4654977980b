"""Ladders, nested and empty arms."""
# reads otherwise: 3.8 3.9 3.10 3.11 3.12 3.13 3.14


def falls(x, f):
    if x == 1:
        f(1)
    elif x == 2:
        f(2)
    else:
        f(3)
    return x


def nested(x, y, f):
    if x:
        if y:
            f(1)
        else:
            f(2)
    else:
        if y:
            f(3)
        f(4)
    f(5)


def empty(x, f):
    if x:
        pass
    else:
        f(x)
