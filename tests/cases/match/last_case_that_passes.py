# since: 3.10
# reads otherwise: 3.10
def look(one, out):
    match one:
        case 1:
            out(1)
        case 2:
            out(2)
        case _:
            pass
    return out


def look_inside(all, out):
    for one in all:
        match one:
            case [a, b]:
                out(a, b)
            case {"a": a}:
                out(a)
            case _:
                pass
        out(one)
