def mro(cls, abcs=None):
    for base in abcs:
        if not any(issubclass(b, base) for b in cls.__bases__):
            abcs.append(base)
    e = [mro(base, abcs=abcs) for base in abcs]
    a = [mro(base, abcs=abcs) for base in e]
    o = [(lambda: base) for base in e]
    p = [(lambda: base)() + x for base, x in e]
    [base for base in e if base]
    x = lambda: x
    return [base + x for x in [[base for base in e if base] for base in p]], base, e, a, o, p
