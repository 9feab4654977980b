"""A `return` in `finally` takes the place of what was returned or raised."""
# reads otherwise: 3.11 3.12 3.13 3.14


def overridden(f):
    try:
        return f()
    finally:
        return 2


def swallowed(f, g):
    try:
        f()
    finally:
        g()
        return f
