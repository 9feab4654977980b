# since: 3.12
type A = [[b for c in d], (e for f in c if c)]


def g[T: h](i: [j for h in k]):
    pass
