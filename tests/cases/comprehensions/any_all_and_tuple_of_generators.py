"""3.14 compiles a loop before these calls."""


def calls(rows, n):
    if any(row for row in rows):
        return all(row > n for row in rows)
    found = tuple(row for row in rows if row) or not any(row is n for row in rows)
    while not all(row for row in (rows if n else found)):
        any(row for row in [cell for cell in rows if cell])
    return tuple(any(cell for cell in row) for row in rows), found


def in_try(rows):
    try:
        return all(row for row in rows)
    finally:
        rows.close()
