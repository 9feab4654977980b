"""PEP 649: since 3.14 annotations are functions."""
# since: 3.14
x: int = 1
if x:
    y: later = 2


def f(a: later, *b: other) -> undefined:
    return a


class C:
    field: C
    other: list[C] = []
