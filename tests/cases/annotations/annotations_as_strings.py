"""`from __future__ import annotations` keeps the text."""
from __future__ import annotations
import typing
x: typing.List[int] = []


def f(a: int, b: dict[str, typing.Any]={}, *c: not_defined.here, **d: (int, str)) -> a | None:
    return a


class C:
    x: C | None = None
    y: typing.Callable[[int], C]

    async def method(self, other: C) -> 'quoted':
        return self


def g(a: typing.Callable[..., None], b: typing.Tuple[int, ...], c: (1, (None, ...))) -> X[..., -1]:
    return a


def h(a: X[f(...), (a.b, (..., 'Ellipsis'))], b: X[Ellipsis, a(..., 1)]) -> X[Ellipsis]:
    return b
