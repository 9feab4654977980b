"""A local function that calls itself closes over its own name."""


def outer(limit):
    def step(n):
        if n > limit:
            return n
        return step(n + 1)
    return step(0)
