# Both paths lead to the code after the `or`: one value is the test's, one the constant.
def chosen(a, b):
    return a is None and '' or b(a)


def chosen_in_turn(a, b):
    c = a is None and 0 or a is b and () or b(a)
    return c


def chosen_in_a_loop(a, b):
    for c in a:
        c = c is not b and None or b(c)
        d = a and b(c) and 1 or 0
    return d
