"""Conditional expressions of which one arm returns, or is a constant that is tested."""
# reads otherwise: 3.10 3.11 3.12 3.13 3.14


def returned(s, y):
    return (
        y or
        s.startswith('a')
        or (s.b if s.c else s.d)
    )


def asserted(x, c, s):
    assert not x if c else True, 'message'
    s()
