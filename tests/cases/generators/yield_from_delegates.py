"""Delegation, its result, and loops around it."""


def plain(x):
    yield from x


def result(x):
    value = yield from x
    return value


def nested(tree):
    if tree is not None:
        yield from nested(tree.left)
        yield tree.value
        yield from nested(tree.right)


def part_of_an_expression(x, f):
    return f((yield from x), [(yield from x)])
