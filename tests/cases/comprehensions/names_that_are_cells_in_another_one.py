{0 for name_3 in u if name_3}
{0: (0 for v in w if name_3) for name_3 in x}


def f(b, d):
    [lambda: a for a in b]
    [a for a in b if [lambda: a for a in d] and a]
    return [a for a in b if [(lambda: c, a) for c in d if [c for c in a]]]
