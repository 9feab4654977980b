async def within_a_with(key):
    with a:
        return [x async for x in key if data <= count < a]


async def within_a_try(key):
    try:
        found = [x async for x in key if line <= count < data]
    finally:
        a
    return found
