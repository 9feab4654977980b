"""A `with` that is left from a loop in it still has statements after it."""


def returns_a_name(a, d, e):
    with d as e:
        for x in a:
            if e:
                return d
    b()


def returns_a_call(a, d, e):
    with d:
        for x in a:
            if e < a <= d:
                return d()
        e()
    b()
