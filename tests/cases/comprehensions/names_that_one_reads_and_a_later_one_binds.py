def read_first(rows):
    first = {n for row in rows}
    second = [n for n in rows]
    return first, second


def captured(rows):
    first = {n for row in rows}

    def use():
        return n

    return [lambda: n for n in rows], first, use


def in_one_that_reads_it(rows):
    return [[n for row in row] + [n for n in row] for row in rows]
