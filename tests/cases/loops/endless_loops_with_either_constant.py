# reads otherwise: 3.8 3.9 3.10 3.11
"""The test of an endless loop leaves its width (3.12+)."""


def one(a):
    while 1:
        b = a()
        if b:
            break
        a(b)


def true(a):
    while True:
        b = a()
        if b:
            break
        a(b)


def after_something(a):
    b = 1
    while 1:
        b += a(b)
