"""With and without a message, of every kind of test."""


def simple(x):
    assert x
    assert not x
    assert x, 'message'
    assert x > 1, f'{x} is too small'
    assert isinstance(x, int), (x, type(x))


def compound(x, y):
    assert x and y
    assert x or y, x
    assert not x or not y, y
    assert 0 < x < y
    assert x if y else y
    assert all(z for z in x), [z for z in x if not z]


def always():
    assert False


def in_branches(x, items):
    if x:
        assert x.y
    else:
        assert not x.y, x
    for item in items:
        assert item
    return x
