"""What a choice tests may be chosen as well: 3.10 copies what follows to both ways."""


def returned(a, b, c, d, e):
    return ~(a if (b if c else d) else e)


def part_of_it(a, b, c, d, e):
    return a + (d if (c if d else b) else e)


def longer(a, b, c, d, e):
    return -(a if (b and c if d else e or d) else e)


def asserted(a, b, c, d, e):
    assert e, ~(a if (b if c else d) else e)


def ends_a_chain(a, b, c, d, e, f):
    a < b <= c is (d if e else f)
    raise
