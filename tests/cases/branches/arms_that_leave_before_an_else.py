# reads otherwise: 3.10
def adds(a, b):
    if b is NotImplemented:
        return b

    return b.add(a)


def finds(a):
    if a.is_closed:
        raise ValueError(a)
    else:
        return a.value


def halves(a):
    if a % 2 == 1:
        return a
    else:
        b = a // 2
        return b - 1
