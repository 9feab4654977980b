"""Each `break` drops the iterator of its loop, before what the loop is followed by."""


def two(words, rows, cols, i, width, menu):
    for r in range(rows):
        for col in range(cols):
            if i + col:
                break
        if i >= len(words):
            i = 0
            break
        if r + 5 > width:
            menu.append(i)
            break
    return menu, i


def three(a, b, f):
    for x in a:
        for y in b:
            f(x, y)
        if f(1):
            f(2)
            break
        if f(3):
            f(4)
            break
        if f(5):
            return x, f
    return f(a), f(b)
