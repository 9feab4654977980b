# reads otherwise: 3.12+
"""What `and`, `or`, a conditional expression or a chain comes to is dropped: the end of the statement
is one, or is copied with what follows it."""


def at_the_end(a, b):
    a or (c := b)


def in_a_loop(a, b):
    while a:
        a and (c := b)
    return c


def with_more_behind(a, b, f):
    a if b else b or []
    return f


def chains(a, b, f):
    a < b < f()
    return f


def stored_on_both_ways(a, b, f):
    (c := f) if a else (d := b)
    f()


def tests_of_tests(a, b, f):
    a is not b and f()
    not a and b()
    f


a if b else c or []
a
