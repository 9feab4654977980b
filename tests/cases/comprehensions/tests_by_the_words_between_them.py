# reads otherwise: 3.8 3.9 3.10 3.11
def pick(rows, wanted):
    a = [row for row in rows if row.a if row.b]
    b = {row: 1 for row in rows if row.a and row.b if not row.c}
    c = {
        key: value
        for key, value in rows
        if key not in wanted
        if isinstance(value, int)
    }
    d = [
        row
        for row in rows
        if row.a
        and row.b
    ]
    e = [
        row
        for row in rows
        if row.a
        and row.b
        and row.c
    ]
    return a, b, c, d, e
