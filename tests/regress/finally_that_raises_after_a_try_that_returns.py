# python: 3.8
def f0(a, b, c=None, *x, **y):
    try:
        try:
            return
        except E0 as err:
            return b
        except:
            pass
        for c in {a: ''}:
            pass
    finally:
        raise d(y.z(y, d=d))
