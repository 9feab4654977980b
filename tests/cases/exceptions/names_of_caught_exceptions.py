"""The name is deleted at the end of its clause, however the clause ends."""
# reads otherwise: 3.10 3.11 3.12 3.13 3.14


def used(f, g):
    try:
        f()
    except ValueError as error:
        g(error)
    except TypeError as error:
        return error
    try:
        g()
    except OSError as error:
        for x in error.args:
            if x:
                break
    return f


def nested(f, g):
    try:
        f()
    except ValueError as outer:
        try:
            g(outer)
        except ValueError as inner:
            raise inner from outer


def deleted_by_hand(f):
    try:
        f()
    except ValueError as error:
        del error
