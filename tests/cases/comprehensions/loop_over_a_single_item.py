# since: 3.9
def pairs(a, g):
    d = {j + k: j * k for i in range(4) for j, k in [(i + 1, i + 2)]}
    e = [y for x in a for y in [g(x)] if y]
    h = (y for x in a if x for y in [g(x)] if y for z in y)
    s = {(j := i + 1): j * j for i in range(4)}
    return d, e, h, s, {j for i in range(4) for j in [i + 1] for k in (j, 2)}


async def numbers(a):
    return [i async for i in a for j in [i] if await j]
