# reads otherwise: 3.10
def sort(parts, out):
    for part in parts:
        if part == 1:
            out(part)
        elif part == 2:
            pass
        elif part == 3:
            pass
        else:
            out(4)


def choose(one):
    if one.kind is True:
        one.kind = 1
    elif one.kind is False:
        pass
    elif callable(one.kind):
        one.kind = 2
    if one.other:
        return 3


def nest(one, out):
    if one.a:
        out(1)
    elif one.b:
        if one.c:
            out(2)
    return out
