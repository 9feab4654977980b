"""Targets that are no plain names."""


def targets(items, store):
    a = [1 for _ in items]
    b = [store[0] for store[0] in items]
    c = [store.x for store.x in items]
    d = [x for x, in items]
    e = [x for x, *_ in items]
    return a, b, c, d, e
