"""Asynchronous loops and context managers."""
# reads otherwise: 3.8 3.9 3.10 3.11 3.12 3.13 3.14


async def loop(source, f):
    async for item in source:
        f(item)


async def loop_with_else(source, f):
    async for item in source:
        if f(item):
            break
        f(None)
    else:
        f(0)
    f(1)


async def managed(a, f):
    async with a:
        f()
    async with a as x:
        f(x)


async def several(a, b, f):
    async with a as x, b as y:
        await f(x, y)


async def both(a, f):
    async with a as x:
        async for y in x:
            with f(y) as z:
                await z
    return 1


async def returns_inside(a):
    async with a as x:
        return x
