"""What `is`, `in` and `not` come to is True or False without a test; the next operand is tested."""


def alike(a, b):
    return type(a) is type(b) and a.name == b.name and a.size == b.size or a in b.others


def far(a, b):
    return (a not in b or a.name == b.name or a.size == b.size) and b.others


def empty(a, b):
    return not a and b.name and b.size or b.others


def ends_that_coincide(a, b):
    return (a or b is not a.other() and (b.name or b.size)) and b
