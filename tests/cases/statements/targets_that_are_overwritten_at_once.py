def twice(x, y):
    a, a = x, y
    return a


def of_three(x, y, z):
    a, a, b = x, y, z
    return a, b


def called(f, g):
    a, a = f(), g()
    return a
