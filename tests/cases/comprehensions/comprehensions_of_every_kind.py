"""Lists, sets, dictionaries and generators, with conditions and several loops."""


def kinds(items):
    a = [x for x in items]
    b = {x for x in items}
    c = {x: x.name for x in items}
    d = (x for x in items)
    return a, b, c, d


def conditions(items, f):
    a = [x for x in items if x]
    b = [x for x in items if x and f(x)]
    c = [x for x in items if x and f(x) or not x]
    d = [x if x else f(x) for x in items]
    return a, b, c, d


def several(rows, f):
    a = [x for row in rows for x in row]
    b = {x: y for x in rows if x for y in x if y}
    c = [(x, y) for x in rows for y in rows if f(x, y)]
    return a, b, c


def unpacking(pairs):
    return [a + b for a, b in pairs], [a for a, (b, *c) in pairs if c], {k: v for k, v in pairs}


def argument(items, f):
    return f(x for x in items), f((x for x in items), 1), sum(len(x) for x in items if x)
