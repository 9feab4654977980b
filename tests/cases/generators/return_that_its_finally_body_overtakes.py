def inner(value, error):
    try:
        yield 1
        yield 2
        return value
    finally:
        raise error


def called(value, error):
    try:
        return value()
    finally:
        raise error
