# since: 3.10
def behind_a_guard(x, y):
    match x:
        case 1 if y:
            pass
        case 2:
            pass
        case y.c:
            pass
        case 4:
            return 3
    return 4


def of_every_kind(x, y):
    match x:
        case 1:
            pass
        case 2:
            pass
        case y.c:
            pass
        case [a, b] if a:
            pass
        case {'k': 3}:
            pass
        case 4:
            y()
    return x


def beside_alternatives(x, y):
    match x:
        case 1 | y.d:
            pass
        case 2 | 3:
            pass
        case y.c:
            pass
        case [1 | 2, _] | [3, _]:
            pass
        case 4:
            return 3
    return 4
