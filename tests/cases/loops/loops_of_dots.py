"""An empty loop leaves the place of its `...` or `pass` in the jump."""
# reads otherwise: 3.8 3.9 3.10


def of_dots(xs):
    for _ in xs:
        ...


def of_a_pass(xs):
    for _ in xs:
        pass
