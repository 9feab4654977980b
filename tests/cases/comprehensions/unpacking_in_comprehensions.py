"""Unpacking in comprehensions (PEP 798), of every kind and in each other."""
# since: 3.15


def each(y):
    return [*x for x in y], {*x for x in y}, {**x for x in y}, (*x for x in y)


def with_tests(y, a, b):
    f(*x for x in y)
    f((*x for x in y if x), 1)
    return [*(x if a else b) for x in y if a for x in x], {**(x or a) for x in y for b in x if b}


def in_each_other(y):
    f((*(*x for x in z) for z in y))
    return [*[*x for x in z] for z in y], [[*x for x in z] for z in y], {**{**x for x in z} for z in y}


def captured(y):
    return [*[lambda: x] for x in y], (*(lambda: x)() for x in y), [*(z := x) for x in y], z


async def awaited(y):
    f((*x async for x in y), (*await x for x in y))
    return [*x async for x in y], {*await x for x in y}, {**await x async for x in y}


class Scope:
    a = [*x for x in y]
    b = (*x for x in a)
    c = {**x for x in y}
    type T[U] = [*x for x in U]


[*x for x in y]
{**x for x in y}
(*x for x in y)
d = {*x for x in y}
e = any(*x for x in y)
g = list(*x for x in y)
h = lambda: [*x for x in y]
for i in [*x for x in y]:
    pass
