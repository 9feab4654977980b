"""A jump to where control goes anyway is not written."""


def last(x, f):
    if x:
        f(x)
    else:
        f(0)


def loop_last(x, f):
    for y in x:
        if y:
            f(y)


def locked(lock, f):
    with lock:
        f()


def several(kind, names, f):
    if kind == 1:
        for name in names:
            f(name)
    elif kind == 2:
        for name in names:
            f(name, 2)
    else:
        f(None)
