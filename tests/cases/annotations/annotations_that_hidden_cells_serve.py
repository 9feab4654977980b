# since: 3.14
"""Which cells and names annotations bring into what is around them."""


def outer(y, zz):
    class C:
        if y:
            x: y
        a: zz
        __b: [__b for __b in y] = 1

        def method(self, __p: C, *args: *C, __k: lambda: zz) -> __b:
            return super().method()

    class G[T: (y, int), *Ts = *zz](C):
        t: T = None

        def method[U: T = G](self, a: T, b: U = 1, *, k: t = 2) -> {x: zz for x in a}:
            return a

        type A[V: T] = dict[V, T, t]

    return C


class Outer:
    class Inner:
        while q:
            y: int

    def method(self):
        class Local:
            with q:
                z: int

        return Local


class Other:
    def method(self):
        class Local:
            if q:
                z: int
            else:
                w: str = ''

    name: int = 0
    name, other = other, name
    a: name


for i in range(2):
    v: [f(v) for v in i]
format: format = 1
