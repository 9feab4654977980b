# What only a display can name was written as one, whatever the other keys are.
def in_front_of_names(a, b):
    dict(a, **{'return': b, 'c': a})
    dict(a, **{'c': b, 'return': a})
    return dict(**{'return': b, 'c': a})


def beside_other_arguments(a, b):
    dict(*a, **{'return': b, 'c': 1})
    dict(a=b, **{'c': b, 'a b': a, 'd': 2})
    return dict(a, **b, **{'class': a, 'c': b})
