# since: 3.10
"""A comparison below its first operand is a case: that of an `if` starts with the operand."""
import a_module


def number(a, b):
    match a:
        case 0:
            b = 1
    return b


def value_of_a_call(a, b):
    match a(
        b
    ):
        case a_module.VALUE:
            return 1
    return b


def with_a_guard(a, b):
    match a.b:
        case "a" if b:
            b()


def before_a_default(a, b):
    match a:
        case -1:
            b()
        case _:
            a()


def in_a_loop(a):
    for b in a:
        match b:
            case 6:
                break
    return a


def tests(a, b):
    if (a
            == 0):
        b = 1
    if a(
        b
    ) is None:
        b = 2
    if (
        a
    ) == (
        b
    ):
        return 8
    return b


match number:
    case 1:
        tests(1, 2)
