"""-O leaves no assertions; what surrounds them stays."""
# optimize: 1


def f(x, g):
    assert x  # dropped by -O
    if x:
        assert g, x  # dropped by -O
        g(x)
    for y in x:
        assert y  # dropped by -O
        g(y)
    return x
