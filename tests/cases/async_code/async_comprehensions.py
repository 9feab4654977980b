"""Comprehensions that wait."""


async def lists(source, f):
    return [x async for x in source], [await x for x in source], [f(x) async for x in source if x]


async def others(source, f):
    a = {x async for x in source}
    b = {x: y async for x, y in source}
    c = (x async for x in source)
    d = [x for x in source if await f(x)]
    return a, b, c, d


async def nested(source):
    return [y for x in source async for y in x]
