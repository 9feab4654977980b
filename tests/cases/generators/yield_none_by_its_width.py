"""`yield None` is wider than `yield`, from 3.11 on."""
# reads otherwise: 3.8 3.9 3.10


def both():
    first = yield None
    second = yield
    yield None
    yield
    return first, second


async def in_a_coroutine():
    yield None
    yield
