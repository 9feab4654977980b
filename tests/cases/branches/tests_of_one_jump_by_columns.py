# reads otherwise: 3.8 3.9 3.10
"""Tests that lead to one place stand one by one where they start in one column."""


def three_that_go_on(classes, seen):
    for each in classes:
        if each.module != "builtins":
            continue
        if each == BaseException:
            continue
        if each in seen:
            continue
        yield each


def one_that_goes_on(a, b, nothing):
    for name in a.names:
        first = getattr(a, name, nothing)
        second = getattr(b, name, nothing)
        if first is nothing and second is nothing:
            continue
        if first != second:
            return False
    return True


def one_test_on_two_lines(a, b):
    for each in a:
        if (each in b or
                each.is_empty()):
            continue
        b.add(each)


def assert_in_an_if(error, trace):
    if isinstance(error, Exception):
        assert trace is not None, "an exception has a trace"
    show(error, trace)


def assert_of_two(error, trace):
    assert not error or trace, "an error has a trace"
    show(error, trace)
