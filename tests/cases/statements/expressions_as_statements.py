"""Values that nobody takes."""


def dropped(x, f):
    x
    f
    f()
    x.y
    x[0]
    x + 1
    x, f
    [x]
    not x
    x == 1
    x and f()
    x or f(x)
    f(x) if x else f()
    lambda: x


x = 1
x
x.real
