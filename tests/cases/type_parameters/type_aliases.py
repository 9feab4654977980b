"""`type` statements evaluate their value later."""
# since: 3.12
type Name = str
type Pair[A, B] = tuple[A, B]
type Nested[T: int] = list[Nested[T]] | T


def local(x):
    type Local = list[x]
    return Local


class Holder:
    type Inner = int
    x: Inner = 1
