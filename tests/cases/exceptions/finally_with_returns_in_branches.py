# reads otherwise: 3.8 3.9 3.10
# Each branch drops the exception for itself; a bare `except:` would do so first of all.
def f(g, test):
    try:
        g()
    finally:
        del g
        if test():
            return
        else:
            return 0


def behind_a_clause(g, h):
    try:
        g()
    except ValueError:
        pass
    finally:
        try:
            h()
            return
        except OSError:
            return 0
