"""Every operator, on every kind of target."""


def operators(x, y):
    x += y
    x -= y
    x *= y
    x /= y
    x //= y
    x %= y
    x **= y
    x @= y
    x &= y
    x |= y
    x ^= y
    x <<= y
    x >>= y
    return x


def targets(x, y, f):
    x.a += y
    x[0] += y
    x[y] -= 1
    x[f(y)] *= f(x)
    x.a.b[y].c += [y]
    f(x).y += yield_(x)


total = 0


def names():
    global total
    total += 1
    free = 1

    def inner():
        nonlocal free
        free *= 2
    return inner


def yield_(x):
    return x
