"""An interpolation remembers the text of its expression: spaces, quotes, parentheses, numbers."""
# since: 3.14


def written(x, y):
    spaces = t'{x+y} {x  +  y} {( x )}'
    quotes = t'{x["key"]} {'single'} {"double"}'
    numbers = t'{0x10} {1_000} {60*60}'
    nested = t'{t"{x!r}"} {f'{y}' + "a"}'
    return spaces, quotes, numbers, nested
