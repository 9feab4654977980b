"""What is compared by identity is made where the test comes to it, and nowhere else."""


def conjunctions(a, b, f):
    f(a and b is {})
    f(a and b is not {'k': a})
    return a or b is {}


def chains(a, b, c, f):
    f(a == b is not c is {})
    while a < b is {}:
        f(a)
    return f(a is b is {'k': 1} is not c)


def handled(a, b, c, f):
    try:
        f()
    except a == b is not f(c) is {}:
        f(a)
