# Compilers store in another order what stands on one line.
def in_their_order(first, second, third):
    (
        a,
        b,
    ) = (first, second)
    (
        c,
        d,
        e,
    ) = (first, second, third)
    f, g = second, first
    return a, b, c, d, e, f, g


def two_on_one_line(first, second, third):
    (a, b,
     c) = first, second, third
    return a, b, c


def comprehension_on_the_next_line(rows, x):
    cells = \
        [cell for row in rows for cell in row]
    names = (
        {name for name in rows}
    )
    x = (
        {key: value for key, value in cells}
    )
    return cells, names, x


def one_name_stored_again(row):
    (
        _,
        first,
        _,
        _,
        second, _, _,
    ) = row
    for (
        _,
        _,
        third,
    ) in row:
        yield first, second, third
