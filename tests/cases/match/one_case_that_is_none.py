# since: 3.10
"""From 3.11 on the jump compares with None, in the line of the case."""


def none(a, b):
    match a:
        case None:
            b = 1
    return b


def none_of_a_call(a, b):
    match a():
        case None:
            return 1
    return b


def true(a):
    match a.b:
        case True:
            a()


def tests(a, b):
    if (
        a
    ) is None:
        b = 1
    if a(
        b
    ) is not None:
        return 2
    return b
