"""What comprehensions and loops go through: lists and tuples of constants, of values, with stars."""
# reads otherwise: 3.8 3.9 3.10 3.11 3.12 3.13 3.14 3.15


def loops(a, b):
    for x in (*a, b):
        print(x)
    for x in (1, 2, 3):
        print(x)
    if b in (*a, b) or b in (1, 2, 3):
        return [x for x in [a, b]], [x for x in [1, 2, 3]]
    return (x for x in [1, 2, 3]), (x for x in (*a, b)), {x for y in a for x in (*y, b)}


def many(a):
    for x in (
        a, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, a
    ):
        print(x)
    return a in (
        a, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, a
    )
