# since: 3.10
def h(u):
    match u:
        case [D()]:
            return 1


def mapping(u):
    match u:
        case [{'key': _}]:
            return 1


def nested(u):
    match u:
        case [[D()]]:
            u()


def loop(u):
    for x in u:
        match x:
            case [D()] | [{1: _}]:
                x()


def last(u):
    match u:
        case {'a': D()}:
            return 1
        case D(x=[D()]):
            return 2
        case [_, {1: _, 2: _}]:
            return 3
