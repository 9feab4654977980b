async def f():
    @g
    async def g(a=x, *, g=(g := 0)):
        pass


def h(a):
    return [a, a + b((a := 1)), a, (a := a + 1), {a: (a := 2)}, a]
