"""Conditional expressions of which one arm returns, or is a constant that is tested."""
# reads otherwise: 3.10+


def returned(s, y):
    return (
        y or
        s.startswith('a')
        or (s.b if s.c else s.d)
    )


def asserted(x, c, s):
    assert not x if c else True, 'message'
    s()
