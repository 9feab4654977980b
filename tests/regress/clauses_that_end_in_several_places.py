# python: 3.13
def f(g, a, b, items):
    try:
        g()
    except ValueError:
        if a:
            if b:
                pass
            else:
                [0 for item in items]
    h()
