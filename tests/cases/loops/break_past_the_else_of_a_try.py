# reads otherwise: 3.8+
"""A `break` out of a `with` leads past the `else` around it, in a loop that never comes round."""


def in_an_endless_loop(a, g):
    while True:
        try:
            with a as data:
                if data:
                    break
        except StopIteration:
            break
        else:
            return g(a)
    g(data)


def in_a_tested_loop(a, g):
    while a:
        try:
            with a as data:
                if data:
                    break
        except StopIteration:
            break
        else:
            return g(a)
    g(data)


def past_an_inner_loop(a, g):
    while True:
        try:
            with a as data:
                for x in data:
                    if x:
                        break
                else:
                    break
        except StopIteration:
            raise
        else:
            return g(a)
    g(data)
