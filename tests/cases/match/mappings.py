"""Mapping patterns, with the rest of the keys."""
# since: 3.10


def shapes(x):
    match x:
        case {'kind': 'point', 'x': a, 'y': b}:
            return a, b
        case {'kind': kind, **rest}:
            return kind, rest
        case {1: _, -2: [a, *_]}:
            return a
        case {}:
            return 0
