# What 3.12 makes of such a name depends on the order of the comprehensions and on the release.
def read_before_it_is_bound(rows):
    first = {n for row in rows}
    second = [n for n in rows]
    return first, second
