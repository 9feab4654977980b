# since: 3.9
"""Managers in parentheses, on lines of their own."""


def in_parentheses(a, b, c):
    with (
        a('x', b) as d,
        b(d) as e,
    ):
        c(e)
