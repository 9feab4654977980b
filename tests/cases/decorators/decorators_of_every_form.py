"""Names, attributes, calls, several at once, on functions and classes."""
import functools
from contextlib import contextmanager


@functools.lru_cache
def attribute():
    return 1


@functools.lru_cache(maxsize=None)
@contextmanager
def called_and_stacked():
    yield 2


@functools.total_ordering
class Decorated:
    @staticmethod
    @functools.wraps(attribute)
    def method(x):
        return x

    @classmethod
    async def later(cls):
        return cls
