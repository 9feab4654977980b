"""Coroutines that yield."""


async def generate(n):
    for i in range(n):
        yield i


async def filtered(source):
    async for item in source:
        if item:
            yield await item


async def guarded(source, f):
    try:
        async for item in source:
            yield item
    finally:
        await f()


async def receives():
    x = yield
    while x:
        x = yield x
