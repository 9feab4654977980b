"""A variable of an outer function is shared by every function inside."""


def counter(start):
    count = start

    def up(step):
        nonlocal count
        count += step
        return count

    def down(step):
        nonlocal count
        count -= step
        return count

    def read():
        return count

    return up, down, read


def three_levels(a):
    def second(b):
        def third(c):
            return a, b, c
        return third
    return second
