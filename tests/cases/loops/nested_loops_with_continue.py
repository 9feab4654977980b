"""Jumps to the start of the inner and of the outer loop."""
# reads otherwise: 3.8 3.9 3.10 3.11 3.12 3.13 3.14


def outer(rows, f):
    for row in rows:
        f(0)
        for item in row:
            if item < 0:
                break
            f(item)
        f(row)


def whiles(a, b, f):
    while a:
        while b:
            b = f(b)
            if b > 3:
                continue
            f(a)
        a -= 1
        if a > 2:
            continue
        f(b)
