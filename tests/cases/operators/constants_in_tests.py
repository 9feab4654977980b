# reads otherwise: 3.10+
"""A constant is tested as it is: what stands beside it is what is negated."""


def statements(a, b, c):
    if (1 or not a) and c:
        b()
    while (None and a or b) and c:
        b()


def in_a_comprehension(a, b, c):
    return [x for x in b if (0 or not (a and c)) and x]
