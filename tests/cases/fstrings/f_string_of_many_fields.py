# reads otherwise: 3.10
class Point:
    def __repr__(self):
        return (
            f"P({self.a}, {self.b}, {self.c}, {self.d}, {self.e!r}, {self.f}, {self.g}, {self.h}, "
            f"{self.i}, {self.j:>3}, {self.k}, {self.l}, {self.m}, {self.n}, {self.o}, {self.p}, "
            f"{self.q}, {self.r})"
        )
