"""A generator may be closed at any `yield`: handlers around it are kept."""


def managed(resource):
    with resource as r:
        yield r


def final(f, g):
    try:
        yield f()
    finally:
        g()


def loops(items, f):
    for item in items:
        try:
            yield item
        except GeneratorExit:
            f(item)
            raise
        except ValueError as error:
            f(error)
        else:
            f(None)


def returns_inside(f):
    try:
        yield 1
        return f(2)
    finally:
        f()
