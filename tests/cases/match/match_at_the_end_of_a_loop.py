# since: 3.10
def f(a, b, c, x):
    while a or x is not None:
        while not b and c:
            assert not x or b
            for z in [y for a in b]:
                return True
        match b(a):
            case str() as p:
                return p
