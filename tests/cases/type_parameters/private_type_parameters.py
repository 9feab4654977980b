# since: 3.12
"""Within the type parameters of a class 3.13 mangles the names of these parameters only."""


class C[__T](B):
    x: __T = None

    def method[__U: __F](self, a: __U, b: __T) -> __G:
        return __T, __U, __H

    class Inner[__V]:
        y: (__V, __T) = 1
