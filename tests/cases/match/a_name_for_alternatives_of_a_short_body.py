# since: 3.10
# reads otherwise: 3.10 3.14+
def returns(a):
    match a:
        case [_] | Point() as whole:
            return False
        case True:
            return 1


def named(a):
    match a:
        case Point() | [_, 2] as whole:
            return whole
        case True:
            return 1


def passes(a):
    match a:
        case [_, _] | Point() as whole:
            pass
        case True:
            return 1
