"""A jump that cannot raise is in the `else` of a `try`, or after the `try`, as its line says."""


def within(f):
    try:
        f()
        return True
    except ValueError:
        return False


def after(f):
    try:
        f()
    except ValueError:
        return False
    return True


def around_a_finally(f):
    try:
        f(0)
        try:
            x = f()
            return x
        except ValueError:
            f(1)
    finally:
        f(2)


def rounds(names, f):
    for name in names:
        try:
            f(name)
        except ValueError:
            if f(1):
                raise
        else:
            return name
    return f
