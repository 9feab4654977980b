"""A test of a constant leaves only the arm that runs."""
# reads otherwise: 3.10 3.12+


def endless(f):
    while True:
        f()


def breaks(f):
    while True:
        f(1)
        if f():
            break
        f(2)
    return f
