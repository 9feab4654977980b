# since: 3.9
# What only goes round is the same wherever it does.
def never_ends(g, a):
    try:
        g()
    except ValueError:
        return a
    finally:
        while True:
            pass


def behind_it(g, a):
    try:
        g()
    finally:
        with a:
            pass
    while True:
        pass
