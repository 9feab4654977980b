"""`None`, `True`, `False`, `...` and `__debug__` where they can stand."""
values = [None, True, False, ..., NotImplemented]


def compared(x):
    return x is None, x is not True, x == False, x is ...


def indexed(x):
    return x[...], x[..., 1:], x[None]
