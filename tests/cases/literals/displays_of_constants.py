"""Tuples, lists, sets and dictionaries of constants are folded in various ways."""
a = (1, 2, 3)
b = [1, 2, 3]
c = {1, 2, 3}
d = {'x': 1, 'y': (2, 3), 'z': [4, 5, 6]}
e = ((), (1,), ((1, 2), ('a', b'b', None, True, ...)))
f = [(), [], {}, [()]]
for g in (1, 2, 3):
    pass
for g in {1, 2, 3}:
    pass


def membership(x):
    return x in (1, 2, 3), x in {1, 2, 3}, x not in (4, 5), x in 'abc'


def display(x):
    return [x, 1], (x, 1), {x, 1}, {x: 1, 1: x}, {'a': x, 'b': x}
