"""An empty `async for` leaves the place of its `...` in the jump."""
# reads otherwise: 3.8 3.9 3.10 3.11


async def of_asynchronous_dots(xs):
    async for _ in xs:
        ...
    return xs
