"""Decorators, coroutines and nested definitions with type parameters."""
# since: 3.12


def decorate(f):
    return f


@decorate
def decorated[T](x: T) -> T:
    return x


@decorate
class Decorated[T]:
    pass


async def waits[T](x: T) -> T:
    return await x


def outer[T](x: T):
    def inner[S](y: S) -> tuple[T, S]:
        return x, y
    return inner
