"""PEP 750: the parts of a t-string are kept apart."""
# since: 3.14


def templates(x, y):
    return t'{x} and {y!r:>10}', t'{{}}', t'{x + y}{x}'
