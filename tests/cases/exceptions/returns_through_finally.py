"""A `return`, `break` or `continue` runs what is in `finally`."""
# reads otherwise: 3.10+


def returned(f, g):
    try:
        return f()
    finally:
        g()


def in_a_loop(items, f, g):
    for item in items:
        try:
            if f(item):
                break
            f(None)
        finally:
            g(None)


def nested(f, g, h):
    try:
        try:
            f()
        finally:
            g()
    finally:
        h()
