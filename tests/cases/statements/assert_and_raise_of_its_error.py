assert __name__
assert len(__name__) > 1, 'name'


def f(a, b, c):
    assert a
    assert a, b
    assert a and b or c, (a, b)
    assert a < b < c
    assert not a
    if not a:
        raise AssertionError
    if b:
        raise AssertionError(b)
    for x in a:
        assert x if b else c
    assert isinstance(a, (int, str)) and all(
        x for x in b
    ), c


class C:
    assert f
