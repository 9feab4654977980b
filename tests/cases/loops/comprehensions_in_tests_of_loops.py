"""A test that has a comprehension, which 3.12 and later make a part of it, is one test all the same."""


def alone(f, x):
    while {a: 0 for a in x}:
        f(x)


def with_others(f, g, x):
    while f() and [a for a in x if a and not f(a) for g.b in a] and g():
        if x:
            f(x)
            continue
        g(x)


def in_a_chain(f, x):
    while [a for a in x] < {b for b in x} < x:
        try:
            f(x)
        except ValueError:
            pass


async def asynchronous(f, x):
    while [a async for a in f()]:
        try:
            await f(x)
        except ValueError:
            x = f()
