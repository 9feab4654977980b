# reads otherwise: 3.8 3.9 3.10
"""What a function of one line returns, by the width of its header."""


class C:
    def utcoffset(self, dt): return None

    def dst(self, dt): pass

    def many(self, a, /, *, b, **c): return None

    def few(*args): pass


def outside(a, b): return None


async def later(a, *b): return None
