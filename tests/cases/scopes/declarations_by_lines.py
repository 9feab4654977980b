"""`global` and `nonlocal` stand where there is a line for them."""


def before_its_first_use():
    prepare()
    global late
    late = 1


def at_the_start():
    global early
    early = 1


def in_the_order_of_the_body():
    global second, first
    second = first
    first = 1


def one_a_line():
    global zero
    global one
    zero = one
    one = 1


def in_a_function():
    seen = None

    def inner(each):
        prepare(each)
        nonlocal seen
        seen = each

    inner(1)
    return seen


def in_an_arm(each):
    if each:
        global inside
        inside = each
    else:
        prepare(each)
