"""A `return` out of a loop after an endless one that a `break` leaves."""
# reads otherwise: 3.8 3.9 3.10 3.11 3.12 3.13 3.14


def f(items, draw, value, n):
    for x in items:
        if x:
            while True:
                try:
                    v = draw()
                except ValueError:
                    n += 1
                    continue
                if v != value:
                    items.append(v)
                    break
                n += 1
            return tuple(items)
        draw(n)
