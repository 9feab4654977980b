flag = 1
class A(dict if flag else list):
    def m(self): return __class__.__name__
    z = [i for i in range(3) if i]
print(A().m(), A.__mro__[1].__name__, A.z)
def f(cls, bases=()):
    a = [g(base, k=1) for base in bases]
    for base in bases:
        if any(isinstance(b, base) for b in bases): a.append(base)
    return a, [base for base in bases if base]
def g(x, k): return (x, k)
print(f(1, (int, str)))
def h(x):
    y = [(lambda: x)() for x in range(3)]
    return y, x
print(h(7))
import contextlib
async def co():
    async with contextlib.AsyncExitStack() as s:
        async for i in agen(): 
            try:
                await asyncio.sleep(0)
                if i == 2: raise KeyError(i)
            except KeyError as e:
                print('caught', repr(e))
    return 5
async def agen():
    for i in range(4):
        yield i
import asyncio
print(asyncio.run(co()))
def gen(n):
    try:
        while n:
            got = yield n
            if got: n = got
            n -= 1
    finally:
        print('closed')
it = gen(3); print(next(it), it.send(9), list(it)); it = gen(2); next(it); it.close()
