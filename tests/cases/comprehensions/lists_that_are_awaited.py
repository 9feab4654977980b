# since: 3.14
"""Only of a list that is iterated at once a tuple is made."""


async def lists(a, b):
    return [x async for x in [a, b]], [x async for y in a async for x in [y, 1]]
