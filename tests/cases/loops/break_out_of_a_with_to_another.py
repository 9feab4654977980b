"""A `break` leaves a `with` for another one, which swallows exceptions somewhere else."""


def to_a_return(a, g):
    while True:
        with a as item:
            break
    with a as value:
        return
    g(1)


def to_code(a, g):
    while True:
        with a as item:
            if item:
                break
        g(1)
    with a as value:
        if value:
            return
    g(2)


async def out_of_an_async_with(a, g):
    while True:
        async with a as item:
            break
    with a as value:
        return g(value)
    g(1)


def past_more_of_the_loop(a, g):
    while True:
        with a as item:
            break
        with a:
            g(1)
        if a:
            g(2)
            with a:
                raise
            break
    g(3)
