"""3.14 makes constants of slices whose bounds are literals; a sign is computed."""


def each(x):
    return x[1:], x[:2], x[1:2:3], x[:-1], x[-1:2], x["a":], x[b"":], x[1.5:2], x[2j:], x[:]


def of_several(x, a):
    x[1:2] = a
    del x[1:], x[-2:]
    return x[1:2, 3], x[1:2, a], x[:-1, 1:]


class Methods:
    """All functions of a class are methods to 3.14, also those without a name."""

    key = staticmethod(lambda x: x[1:])
    values = list(x[1:] for x in ())

    def of(self, x):
        return self.key(x)[1:]
