"""A specification may have conversions and nesting of its own."""


def specs(x, y):
    return f'{x:{y!r}}', f'{x:a{y}b{x!s}c}'
