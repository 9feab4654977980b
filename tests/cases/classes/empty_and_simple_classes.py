"""Classes with nothing, something and each other inside."""


class Empty:
    pass


class Documented:
    """Only words."""


class Values:
    a = 1
    b = a + 1
    c = [a, b]


class Outer:
    class Inner:
        class Innermost:
            x = 1
        y = Innermost.x
    z = Inner.y


def local():
    class Local:
        w = 1
    return Local
