# reads otherwise: 3.8+
class A:
    def first(self):
        """Text."""
        self.a = 1
        return self.a
        self.b, self.__c = 1, 2

    def second(self):
        raise X
        for self.d in self:
            self.e += 1


class B:
    def only(x):
        return x
        self.y = x


def f(self):
    class C:
        def g(self):
            return
            self.z: int = 5
    return C
