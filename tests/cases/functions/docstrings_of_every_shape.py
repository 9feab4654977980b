"""A module's docstring

has lines of its own.
"""


def one_line():
    """One line."""
    return 1


def several_lines():
    """The first line.

    The third line, with "quotes" and a \\ backslash.
    """
    return 2


def raw_text():
    """\x00 and \x7f are escaped, é is not."""


class Documented:
    """A class has one too."""

    def method(self):
        """And its method."""


def not_a_docstring():
    return """This is a value."""
