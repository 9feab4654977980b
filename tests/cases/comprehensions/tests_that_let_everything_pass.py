"""A test of a comprehension that runs, whatever it comes to."""
# since: 3.8


def with_a_walrus(rows):
    return [f'{key} = {short}' for key, value in rows.items() if (short := value.strip()) or True]


def plain(rows, seen):
    return {row for row in rows if seen(row) or True if row.a}


def two(rows, seen):
    return {row: 1 for part in rows if seen(part) or part.a or True for row in part if row or True}


def lazy(rows, seen):
    return (row for row in rows if row.a if not seen(row) or True)
