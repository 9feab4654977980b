"""Targets, `else`, `break` and `continue`."""
# reads otherwise: 3.8+


def targets(items, x):
    for a in items:
        x(a)
    for a, b in items:
        x(a, b)
    for a, (b, *c) in items:
        x(a, b, c)
    for x.y in items:
        x()
    for x[0] in items:
        x()
    for x[0], x.y in items:
        x()


def leaves(items, f):
    for item in items:
        if f(item):
            break
        f(None)
    else:
        f(0)
    f(1)


def nested(rows, f):
    for row in rows:
        for item in row:
            if item:
                break
            f(item)
        else:
            continue
        break
    else:
        f(rows)


def returns(items):
    for item in items:
        if item:
            return item
    return None


def empty(items):
    for item in items:
        pass


def tuples():
    for x in 1, 2, 3:
        print(x)
