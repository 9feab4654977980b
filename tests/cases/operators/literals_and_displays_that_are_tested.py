# since: 3.14
"""Tests of literals are seen through before displays and operations become constants."""


def displays(a, b):
    a(not ())
    return b or not (1, 2)


def literals(a, b):
    a(0 and 0 or '')
    return None and None or b
