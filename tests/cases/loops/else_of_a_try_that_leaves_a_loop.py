"""A `try` in an endless loop leaves it by its `else`, and by a `break` to the code after it."""


def past_a_with(a, g):
    while True:
        try:
            with a as data:
                if data:
                    break
        except StopIteration:
            pass
        else:
            return g(a)
    g(data)


def past_a_with_that_only_breaks(a, g):
    while True:
        try:
            with a:
                break
        except StopIteration:
            g(1)
        else:
            return g(2)
    g(3)


def past_an_inner_loop(a, g):
    while True:
        try:
            with a as data:
                for x in data:
                    if x:
                        break
                else:
                    break
        except StopIteration:
            pass
        else:
            return g(a)
    g(data)


async def past_an_async_with(a, g):
    while True:
        try:
            async with a as data:
                if data:
                    break
        except StopIteration:
            pass
        else:
            return g(a)
    g(data)
