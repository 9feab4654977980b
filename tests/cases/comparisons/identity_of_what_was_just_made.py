def of_displays(a, b, c):
    a({'a': b} is not c)
    same = {'a': [b]} is {}
    return [[c]] is not {'a': [b]}, same


def of_a_comprehension(a, items):
    return {item: item for item in items} is a
