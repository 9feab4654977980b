# reads otherwise: 3.8 3.9 3.10
"""`not` of a bracket that is one operand of several; brackets of one line."""


def first(a, b, system):
    if not (a or b) and system.name != "nt":
        return system
    return None


def last(a, b, c):
    if a and not (b or c):
        return a
    return None


def with_a_comparison(value):
    if not (isinstance(value[0], int) and value[0] in (0, 1)):
        raise ValueError(value)
    return value


def three_on_three_lines(a, b, c):
    if not (
        a.is_whole()
        and b.is_whole()
        and c.is_whole()
    ):
        raise ValueError(a)
    return a
