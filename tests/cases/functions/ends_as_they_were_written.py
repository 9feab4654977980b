"""`return`, `return None`, `pass` and nothing at all end a function alike."""
# reads otherwise: 3.8 3.9 3.10


def nothing(f):
    f(1)


def a_return(f):
    f(1)
    return


def a_none(f):
    f(1)
    return None


def only_a_docstring():
    """Says what it does not do."""


def a_docstring_and_pass():
    """Says what it does not do."""
    pass


def a_docstring_and_none():
    """Says what it does not do."""
    return None


def dots(self):
    ...


def some_none(x, f):
    if x:
        return None
    for y in f(x):
        if not y:
            return None
        f(y)
    return f(x)


def a_bare_one(x, f):
    if x:
        f(x)
        return
    f(0)


def a_break(names, f):
    for name in names:
        if name:
            f(name)
            break


def arms(x, f):
    if x == 1:
        f(1)
    elif x == 2:
        return
    elif x == 3:
        return None
    else:
        f(4)
