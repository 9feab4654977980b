"""A list that is changed where it is made, and named, was written so."""


def changed(f, y):
    del (x := [f])[0]
    (f(y),)
    return x


def kept(f, y):
    del (x := [f, y])[f()], y
    return x, [f]
