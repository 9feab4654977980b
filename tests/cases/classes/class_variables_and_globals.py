"""A class body sees its own names, then globals or the function's around it."""
x = 1


class Module:
    x = x
    y = x


def around(x, z):
    class Local:
        y = x
        w = z

        def method(self):
            return x
    return Local


def writes():
    class Writer:
        global written
        written = 1
    return Writer
