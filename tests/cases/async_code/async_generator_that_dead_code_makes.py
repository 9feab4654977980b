async def waits(items):
    if False:
        yield
    async for item in items:
        item.work()
