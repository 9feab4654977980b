# relowering falls short: 3.12
# What 3.12 makes of such a name depends on the order of the comprehensions and on the release.
def read_after_it_is_bound(rows):
    first = [n for n in rows]
    second = {0: n for row in rows}

    def use():
        return n

    return first, second, use
