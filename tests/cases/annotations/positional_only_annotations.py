"""Annotations of positional-only parameters are evaluated first since 3.15, and before that after the others."""


def f(a: int, b: str = "", /, c: bytes = b"", *d: float, e: complex, **g: bool) -> None:
    return a


class C:
    def __m(self: int, a: str, /, b: bytes) -> None:
        def n(a: int, /, b: str):
            return a

        return n
