"""The test of a loop is compiled twice since 3.10: before the loop and at its end."""


def simple(x, f):
    while x:
        f(x)
        x = x.next
    return f


def compound(x, y, f):
    while x < 3 and (x > 1 or y.ready):
        x = f(x)


def negated(x):
    while not x.done:
        x = x.next


def none(x):
    while x is not None:
        x = x.next
    return x
