"""Every way to end a function."""


def falls_off(f):
    f()


def early(x, f):
    if x:
        return
    f()


def nothing(x):
    return None if x else False


def several():
    return 1, 2


def unpacked(x, y):
    return *x, *y


def empty():
    pass


def only_a_docstring():
    """There is nothing else."""
