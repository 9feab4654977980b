def of_a_condition(a, b, items, more):
    if a < b in [item for item in items] and more:
        return 1
    if a < b in {item for item in items if item} in {item: b for item in items} and more or a:
        return 2
    while not a < b in [[c for c in item] for item in items] and more:
        a += 1
    return a < b in [item for item in items] and more


async def of_what_is_awaited(a, b, items, more):
    if a < b in [item async for item in items] and more:
        return 1
    if a < b in await items and more:
        return 2
    return 3
