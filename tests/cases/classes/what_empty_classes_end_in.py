# reads otherwise: 3.8 3.9 3.10
"""A `pass` or `...` at the end of an empty class leaves its place."""


class Documented(Exception):
    """Documented."""


class Passes(Exception):
    """Documented."""

    pass


class Dots:
    ...


class DocumentedDots:
    """Documented."""

    ...


class Empty:
    pass
