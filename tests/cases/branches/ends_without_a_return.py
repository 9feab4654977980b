import sys

if sys.platform == 'none':
    raise ImportError('no such platform')


def attempt(x):
    try:
        x.a()
    except ValueError:
        pass


def with_else(x):
    try:
        x.a()
    except ValueError:
        x.b()
    else:
        x.c()


def managed(x):
    with x:
        x.a()
        if x.b:
            x.d()
        else:
            x.e()


def shared(ok, added, other):
    if ok:
        added.add(ok)
    else:
        other.add(ok)
    return ok
