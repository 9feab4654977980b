"""Where the test of an operand leads past one more test, 3.14 leaves it without protection."""


def caught(a, b, c, d):
    try:
        x = (a if d else b or c) or d.x
    except ValueError:
        return 'caught'
    finally:
        f(a)
    return x


def in_a_with(a, b, c):
    with a:
        for x in b:
            y = a or b if c else x
            if y or x or c:
                return y and f(x)
