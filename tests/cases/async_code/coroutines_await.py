"""`await` in every place."""


async def simple(x):
    await x


async def value(x, f):
    y = await x
    z = f(await x, *await y)
    return await f(z)


async def operators(x, y):
    return await x + await y, -await x, (await x) ** 2, await x ** 2


async def attribute(x):
    return (await x).name, (await x)[0], (await x)()


async def conditions(x, y):
    if await x and not await y:
        return await x or await y
    while await x:
        y = await y
    return [await x, {await y: await x}]
