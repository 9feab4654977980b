def f(a, b):
    try:
        if a(b) == a:
            b = a
    except ValueError as e:
        pass
    except KeyError as e:
        if e.args == b:
            b = a
    return b


def g(a):
    try:
        a()
    except KeyError as e:
        pass
    except ValueError as e:
        e = None
        del e
    print()


try:
    f()
except KeyError as e:
    pass
