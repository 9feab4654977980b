f(b, **x, **{a: b, c: d})


class A(b, **x, **{a: b, c: d}, e=1):
    pass
