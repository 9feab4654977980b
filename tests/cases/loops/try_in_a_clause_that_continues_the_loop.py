# reads otherwise: 3.8 3.9
"""A clause of a `try` in a loop holds a `try` with a `continue`, and returns after it."""


def in_an_endless_loop(a, g):
    while True:
        try:
            with a as line:
                pass
        except ValueError:
            try:
                g(line)
            except KeyError:
                continue
            g(1)
            return


def behind_a_name(a, g):
    while True:
        try:
            with a as line:
                g(line)
        except ValueError as error:
            try:
                g(error)
            except KeyError:
                continue
            return g(1)
