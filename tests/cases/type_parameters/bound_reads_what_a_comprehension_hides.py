# since: 3.12
def g[T: h](i: [j for h in k]):
    pass
