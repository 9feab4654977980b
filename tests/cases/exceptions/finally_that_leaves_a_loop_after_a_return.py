# The iterator that `break` drops is another one in each copy of the body.
def f(g, items):
    try:
        g()
    except ValueError:
        pass
    finally:
        for item in items:
            break
