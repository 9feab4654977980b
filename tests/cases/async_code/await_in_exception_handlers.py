"""`await` between the parts of `try`."""


async def handled(f, g, h):
    try:
        await f()
    except ValueError as error:
        await g(error)
    else:
        await h()
    finally:
        await g(None)


async def retry(f, times):
    for n in range(times):
        try:
            return await f(n)
        except OSError:
            if n == times - 1:
                raise
            await f(None)
