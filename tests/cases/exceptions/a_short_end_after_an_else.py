"""Compilers copy a short end of a body to the `else` and to each clause before it."""


def of_a_function(a, b, c):
    try:
        a()
    except ValueError:
        b()
    else:
        c()
    a.b = 1


try:
    ready = all
except NameError:
    ready = None
else:
    ready(())
end = 1
