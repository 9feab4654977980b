def asserted(a, b, c, d):
    assert not a in b is (c or d) or d, a
    assert a < b == (c if d else a)
    print(a)
    assert not a < b < (c and d) or d
    assert not a < b < [c or d] or d
