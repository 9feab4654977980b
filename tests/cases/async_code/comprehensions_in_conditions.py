async def f(a, b, d):
    a in b > {0: 0 async for c in d}
    a or {0: 0 async for c in d}
    if a in b > [c async for c in d]:
        d = a in b >= {0} > {c async for c in d}
