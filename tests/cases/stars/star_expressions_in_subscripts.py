"""PEP 646 lets a star stand in a subscript."""
# since: 3.11


def subscripts(a, b):
    a[*b] = 1
    return a[*b], a[1, *b], a[*b, *a]


def annotated(*args: *tuple[int, ...]):
    return args
