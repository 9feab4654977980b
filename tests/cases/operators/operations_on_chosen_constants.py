# reads otherwise: 3.8+
def negative(a):
    return -(0 and a)


def not_empty(a):
    return not ('' and a)


def not_true(a):
    return not (1 or a)


def inverted(a):
    return [~(5 or a), +(1.5 or a)]


def of_two(a):
    return (8.5 or a) + 2, 4 / (2.5 or a), (1 or a) << 3, (3 or a) ** 2, 4 / (0 and a)


def dropped(a):
    8.5 or a
    2j or a
    return a
