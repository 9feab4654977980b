# What is loaded and dropped again stays; up to 3.9 a jump lies in between, and 3.12 and later see
# through it, but for loops.
# reads otherwise: 3.8 3.9 3.12+
def alone(x):
    0 if True else 0
    return x


def in_a_loop(x):
    while x:
        0 if True else 0
        x()


def before(x):
    x()
    None if True else None
    return x
