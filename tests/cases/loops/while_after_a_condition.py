"""The condition around a loop is no part of its test."""


def guarded(a, b, f):
    if a:
        while b:
            f(b)


def nested(a, b, f):
    while a.x:
        while b.x:
            f(b)
