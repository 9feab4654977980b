"""Sequence patterns, with stars and nested."""
# since: 3.10


def shapes(x, f):
    match x:
        case []:
            return 0
        case [a]:
            return a
        case [a, b]:
            return a, b
        case [1, *rest]:
            return rest
        case [first, *_, last]:
            return first, last
        case [*_]:
            f(x)


def nested(x):
    match x:
        case [[a, b], c]:
            return a, b, c
        case [[1 | 2 as n, *_], [*_, 3]]:
            return n
