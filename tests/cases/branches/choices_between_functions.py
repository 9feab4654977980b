"""Compilers copy what follows a choice, and what makes a function with it: its code is no choice."""


def returned(a, b):
    if a:
        return (lambda: 0) if b else (lambda: 1)
    return (lambda: a) if b else (lambda x=3: x)


def equal(a, b):
    if a:
        return (lambda: 0) if b else (lambda: 0)
    assert a, (lambda: 0) if b else (lambda: 0)


def asserted(a, b):
    assert a, (lambda: 0) if b else (lambda: 1)
    assert b, (x for x in a) if a else (x for x in b)
