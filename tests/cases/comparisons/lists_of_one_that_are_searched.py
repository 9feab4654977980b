"""A searched list of one constant is one column narrower than the tuple that it becomes."""
# reads otherwise: 3.8 3.9 3.10


def numbers(x):
    return x in [200] or x not in [7] or x in (201,)


def strings(x, f):
    if x not in ['abc'] and f:
        return f(x in ('abc',))
    return x in [None]


def several(x):
    return x in (200, 201)
