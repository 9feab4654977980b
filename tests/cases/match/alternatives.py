"""Alternatives: of what may be tested once, of names, inside of each other, and that do nothing."""
# since: 3.10


def that_do_nothing(items, g):
    for item in items:
        match item:
            case 0:
                continue
            case 1 | 2 | 3:
                pass
            case [] | {}:
                g(item)
        g(items)


def with_names(x):
    match x:
        case [a, 3] | [3, a] | {"a": a}:
            return a
        case {"b": (0 as b) | (1 as b)}:
            return -b
        case (1, c, d) | (d, 2, c) if c < d:
            return c, d
        case [(0 | 1) as e, *f] | {"e": e, "f": f}:
            return e, f


def of_alternatives(x, g):
    match x:
        case 0 | (1 | 2):
            g(0)
        case ("a" | "b") | "c":
            g(1)
        case [0 | 1, (2 | 3) | 4, [5 | 6] | [7]]:
            g(2)
        case {"k": None | True | False as k}:
            g(k)


def that_take_everything(x):
    match x:
        case [y] | y:
            return y, x


def of_classes(x):
    match x:
        case int(a) | str(a) | float(real=a):
            return a
        case g.Point(a, Point(b)) | Point(Point(b), a):
            return a, b
