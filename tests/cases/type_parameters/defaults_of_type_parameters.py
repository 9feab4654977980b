"""PEP 696 gives them defaults."""
# since: 3.13


class Box[T = int, *Ts = *tuple[int, ...], **P = [str]]:
    pass


def first[T: int = bool](x: T) -> T:
    return x


type Alias[T = str] = list[T]
