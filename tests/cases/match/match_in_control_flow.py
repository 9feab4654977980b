"""`match` around and inside of loops, handlers and other matches."""
# reads otherwise: 3.10+
# since: 3.10


def loop(items, f):
    for item in items:
        match item:
            case 'stop':
                f(0)
                break
            case str():
                f(item)
    else:
        f(None)
    f(1)


def nested(x, y):
    match x:
        case 1:
            match y:
                case 2:
                    return 12
                case _:
                    return 10
        case _:
            return 0


def guarded(x, f):
    try:
        match x:
            case {'a': a}:
                f(a)
            case _:
                raise ValueError(x)
    finally:
        f(x)
