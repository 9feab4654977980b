def f(a, d):
    (k,) = [d] if a.x else a.y


def g(a, b, d):
    try:
        a()
    finally:
        k, b = (d, 1) if a.x else (a or b).y


def h(a, b):
    if b:
        (a.k,) = a.x if b[0] else a.y
        return
    a()


def nested(a, b):
    try:
        a()
    finally:
        (b.x, *b.y) = a if b else b
    return b
