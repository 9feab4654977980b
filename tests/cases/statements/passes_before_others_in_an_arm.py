"""A `pass` before another statement stays in its own list, of a statement with an `else` too."""
# reads otherwise: 3.8 3.9 3.10


def first_in_an_arm(name):
    if name:
        pass
        print(name)
    return 1


def first_before_an_else(name):
    if name:
        pass
        print(name)
    else:
        print("none")
    return 2


def first_in_an_else(name):
    if name:
        print(name)
    else:
        pass
        print("none")
    return 3


def in_a_loop_with_an_else(names):
    for name in names:
        if name:
            break
        pass
        print(name)
    else:
        print("none")
    while names:
        print(names.pop())
        ...
        print(names)
    else:
        pass
        print("none")
    return 4
