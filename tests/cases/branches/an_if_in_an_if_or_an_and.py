"""`if a: if b:` and `if a and b:` are one code; lines and columns say which was written."""
# reads otherwise: 3.8 3.9 3.10


def joined(a, b, f):
    if a and b:
        f(a)
    return b


def over_lines(a, b, f):
    if (a and
            b):
        f(a)
    if a == 1 and \
       b == 2:
        f(b)
    return b


def one_in_the_other(a, b, f):
    if a:
        if b:
            f(a)
    return b


def three(a, b, c, f):
    if a and b:
        if (b == 1 or
                c == 2):
            if not c:
                f(a)
    return b


def that_leave(a, b):
    if a is not None:
        if b not in a:
            raise ValueError(b)
    if a:
        if b:
            return None
    return a
