"""`_ as name` takes what `name` takes, and does not compile to the same."""
# since: 3.10
# reads otherwise: 3.12+


def alone(x):
    match x:
        case _ as y if y:
            return y
        case 8:
            return 2


def inside(x):
    match x:
        case [_ as a, 1]:
            return a
        case {'k': _ as b, 'l': c}:
            return b, c
