"""Managers on one line belong to one statement; on several lines they do not."""


def together(a, b):
    with a as x, b as y:
        x(y)


def apart(a, b):
    with a as x:
        with b as y:
            x(y)
