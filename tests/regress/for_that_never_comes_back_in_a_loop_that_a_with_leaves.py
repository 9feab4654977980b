# python: 3.12 3.13
def fn13(self, x, y):
    while x > 3:
        with g(x) as y:
            return
        for y in x:
            while True:
                f14()
                if y is None:
                    return x
    pass
