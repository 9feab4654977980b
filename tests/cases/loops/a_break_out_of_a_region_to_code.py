"""`break` leaves a `with` or `try` for code that the loop never comes back from."""


def from_a_with(f, g):
    while True:
        with f():
            g(1)
            break
        g(2)
    g(3)


def from_a_try(f, g):
    while f:
        for x in f():
            try:
                g(x)
            except ValueError:
                break
        else:
            raise KeyError
