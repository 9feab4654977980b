"""`del` of everything that can be deleted."""
a = b = 1
del a


def deleted(x, y):
    del x
    del y.attribute, y[0], y[1:2]
    del (y)


def deep(x):
    del x.a.b, x[0][1].c


def captured():
    z = 1

    def inner():
        return z
    del z
    return inner


def free():
    w = 1

    def inner():
        nonlocal w
        del w
    return inner
