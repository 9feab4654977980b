"""What follows an arm that always leaves is in an `else` or after the `if`, as its columns say."""
# reads otherwise: 3.8 3.9 3.10


def after(x):
    if x:
        return 1
    return 2


def within(x):
    if x:
        return 1
    else:
        return 2


def a_row_of_ifs(x):
    if x == 1:
        return 1
    if x == 2:
        return 2
    if not x:
        return 3
    return 4


def a_chain(x):
    if x == 1:
        return 1
    elif x == 2:
        return 2
    elif not x:
        return 3
    else:
        return 4


def a_chain_and_more(x, f):
    if x == 1:
        return 1
    elif x == 2:
        raise ValueError(x)
    else:
        f(x)
        if x == 3:
            return 3
    return f(4)


def nested(x, y, f):
    if x:
        return f(x)
    else:
        if y:
            return f(y)
        f(x, y)
        if x == y:
            return f(0)
        else:
            return f(1)


def rounds(names, f):
    for name in names:
        if name is None:
            f()
            break
        f(name)
        if name:
            continue
        f(name, name)
    for name in names:
        if name is not None:
            f(name)
            f(names)
    for name in names:
        if (name == 1 or
                name == 2):
            f(name)
            continue
        elif name not in names:
            f(names)
            continue
        f(1)


def clauses(f):
    try:
        f()
    except ValueError:
        return 1
    else:
        f(2)
        return f(3)


def behind_clauses(f):
    try:
        f()
    except ValueError:
        return 1
    f(2)
    return f(3)
