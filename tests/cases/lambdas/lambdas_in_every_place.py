"""Functions without a name: as values, arguments, defaults and bodies of each other."""
nothing = lambda: None
identity = lambda x: x
many = lambda a, b=1, *c, d, e=2, **f: (a, b, c, d, e, f)
positional = lambda a, /, b: a + b
nested = lambda x: lambda y: x + y
chosen = (lambda: 1) if nothing else lambda: 2


def sort(items, reverse):
    items.sort(key=lambda item: (item.name, -item.size), reverse=reverse)
    return list(map(lambda item: item[0], filter(lambda item: item, items)))


def called(x):
    return (lambda y: y * x)(x)


def in_a_default(f=lambda x, y=(lambda: 1): (x, y)):
    return f
