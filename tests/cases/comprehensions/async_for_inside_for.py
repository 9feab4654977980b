async def f(b, d):
    x = [0 for a in b async for c in d if a]
    return {0 async for a in b for q in x async for c in d if a}
