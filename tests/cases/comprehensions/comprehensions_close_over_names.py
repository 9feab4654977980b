"""What a comprehension takes from the function around it, and gives to functions inside."""


def outer(items, factor):
    return [x * factor for x in items]


def inner(items):
    return [lambda: x for x in items], [(lambda y: y + x) for x in items]


def same_name(x):
    x = [x for x in x]
    return x


def and_a_closure(items, factor):
    def scaled():
        return [x * factor for x in items]
    return scaled


class Body:
    names = ['a', 'b']
    lengths = [len(name) for name in names]
