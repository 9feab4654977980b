"""A `continue` at the end of a clause; up to 3.9, code that never runs tells it from `pass`."""
# reads otherwise: 3.10+


def alone_before_the_rest(keys, values, f):
    for key in keys:
        try:
            value = values[key]
        except KeyError:
            continue
        f(value)


def passes_to_the_end(keys, values, f):
    for key in keys:
        try:
            value = values[key]
        except KeyError:
            pass
        else:
            f(value)


def at_the_end(keys, values, f):
    for key in keys:
        try:
            f(values[key])
        except KeyError as missing:
            continue


def after_others(keys, values, f):
    while keys:
        try:
            value = values[keys.pop()]
        except KeyError:
            value = f(keys)
            continue
        except TypeError as error:
            f(error)
            continue
        f(value)


def with_an_else(keys, values, f):
    for key in keys:
        try:
            value = values[key]
        except KeyError:
            f(key)
            continue
        else:
            f(value)
        f(values)


def in_some_clauses(keys, values, f):
    for key in keys:
        try:
            value = values[key]
        except KeyError:
            f(key)
            continue
        except TypeError:
            f(values)
        else:
            f(value)


def below_a_manager(keys, values, f):
    while keys:
        with f:
            try:
                value = values[keys.pop()]
            except KeyError:
                continue
            f(value)


def one_after_the_other(keys, values, f):
    for key in keys:
        try:
            value = values[key]
        except KeyError:
            continue
        if value:
            f(key)
        try:
            value = values[value]
        except KeyError:
            continue
        if value:
            f(value)
