"""Declarations come before what needs them."""
total = 0
count = 0


def add(x):
    global total, count
    total += x
    count += 1
    return total


def reads():
    return total


def outer():
    x = 1
    y = 2

    def writes():
        nonlocal x, y
        x = 3
        y += x

    def deep():
        def deeper():
            nonlocal x
            x = 4
        return deeper

    return writes, deep, x, y


def mixed(f):
    def inner():
        global total
        nonlocal f
        total = f
        f = None
    return inner


def defines():
    global made, Made

    def made():
        pass

    class Made:
        pass

    import os as made
    for made in made.environ:
        pass
