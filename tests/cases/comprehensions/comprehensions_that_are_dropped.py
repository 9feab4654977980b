"""A comprehension for its effects alone."""


def effects(items, f):
    [f(x) for x in items]
    {f(x) for x in items}
    return [x for x in items if f(x)] or None


[print(name) for name in ()]
