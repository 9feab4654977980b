# open: 3.12 3.13
# reads otherwise: 3.10+
# The last statement drops what it has chosen, and in the copy for exceptions each arm does.
def f(a, b, d):
    while True:
        try:
            d()
        finally:
            try:
                b or a()
            except ValueError:
                raise TypeError from d


def g(a, b, d):
    while b:
        try:
            d()
        finally:
            try:
                a[0] = b = 1
                (b and a) or d()
            except ValueError:
                d()
            except TypeError:
                a()
    b()


def h(a, b):
    for x in a:
        try:
            x()
        finally:
            with b:
                b.c and b.d()
    return a
