"""Some cases of a `match` raise and some lead to the end of a module or of a class."""
# reads otherwise: 3.10+
# since: 3.10


class First:
    match a:
        case []:
            f()
        case [1, y]:
            pass
        case _:
            raise ValueError(a)


class Holder:
    match a:
        case 2:
            pass
        case [0]:
            raise b
        case _:
            raise c


class InABranch:
    if z:
        match a:
            case 2:
                f()
            case [0]:
                pass
            case _:
                raise c
    else:
        raise d


class InATry:
    try:
        match a:
            case 1:
                if b:
                    pass
                else:
                    raise b
            case {'k': x}:
                f(x)
            case _:
                raise c
    except ValueError:
        raise b


class WithMoreBehind:
    match a:
        case 1:
            if b:
                f()
            else:
                raise b
        case 2:
            raise a
        case _:
            raise c
    f()


match a:
    case 2:
        pass
    case [0]:
        try:
            raise b
        finally:
            f()
    case _:
        while True:
            f()
