"""Conversions, specifications and nesting."""


def formatted(x, y, width):
    a = f'{x}'
    b = f'{x!r} {x!s:>3} {x!a}'
    c = f'{x:>10} {x:{width}} {x:{width}.{y}f} {x!r:^{width}}'
    d = f'{{}} {x} {{{y}}}'
    e = f'{x}{y}'
    f = f'{x + y} {x if y else width} {x.y[0]} {x(y)}'
    return a, b, c, d, e, f


def expressions(x, y):
    a = f'{(lambda z: z)(x)}'
    b = f'{[z for z in x]} { {1: 2}[1] }'
    c = f'{x == y} {x < y} {not x} {x or y}'
    d = f'{x:%Y-%m-%d} {x:,}'
    return a, b, c, d
