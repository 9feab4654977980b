"""Since 3.9 a decorator is any expression."""
# since: 3.9
table = [lambda f: f]


@table[0]
def indexed():
    pass


@(lambda f: f)
def by_lambda():
    pass


@table[0] or table[1]
class Chosen:
    pass


@(named := table[0])
def walrus():
    pass
