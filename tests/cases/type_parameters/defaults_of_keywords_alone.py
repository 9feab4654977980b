# since: 3.12
def keywords[T](*, a=1):
    return a


def both[T](b=2, *, a: T = 1):
    return a


def one_without[T](*, a, b=3):
    return a
