# The two lists of a way are told apart, wherever the ways of the choice meet.
def returns_the_first(a, b):
    c = a and b() or []
    d = []
    return c


def returns_the_second(a, b):
    c = a and b() or []
    d = []
    return d


def changes_both(a, b):
    c = a and b() or []
    d, e = [], []
    while a.goes_on():
        d.append(c)
    return c, d, e
