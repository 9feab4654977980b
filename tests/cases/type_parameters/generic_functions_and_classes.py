"""PEP 695: the parameters belong to a hidden function around."""
# reads otherwise: 3.14+
# since: 3.12


def first[T](items: list[T]) -> T:
    return items[0]


def bounded[T: int, S: (str, bytes)](a: T, b: S) -> tuple[T, S]:
    return a, b


def packs[*Ts, **P](f, *args: *Ts) -> None:
    f(*args)


def with_defaults[T](a: T, b=1, *, c=2) -> T:
    return a


class Box[T]:
    value: T

    def get(self) -> T:
        return self.value

    def map[U](self, f) -> 'Box[U]':
        return f(self.value)


class Derived[K, V](Box[V], dict[K, V]):
    pass


class Empty[T]:
    pass
