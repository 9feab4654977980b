def two(p, q):
    a, b = (
        [x for x in p],
        [y for y in q],
    )
    return a, b


def three(p, q):
    a, b, c = (
        p,
        {x for x in p},
        {y: 1 for y in q},
    )
    return a, b, c


def one_line(p, q):
    a, b = [x for x in p], [x for x in q]
    return a, b


def no_names(p, q):
    p[0], q.a = (
        [x for x in p],
        [y for y in q],
    )
