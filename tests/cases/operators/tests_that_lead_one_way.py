# reads otherwise: 3.8+
def chosen(a, b):
    x = a - (a if b or True else 5)
    return [a, x + 1 if a or 1 else b]


def as_an_operand(a, b, c):
    if a and (b or 's') and c:
        f(a)


def of_a_loop(a, b, c):
    while not (a and (b or 1.5) and c):
        f(a)


def in_front_of_an_item(a, b, c):
    return [not a < (c if b and '' and None else a.x) <= b for b in c]


def in_an_argument(a, b, c):
    f(a, (1 and b) if (a.x and 0 and b) else (b or c))


def on_a_line_of_its_own(a, b):
    if a: pass
    if a or 1: b()
    if b: pass
