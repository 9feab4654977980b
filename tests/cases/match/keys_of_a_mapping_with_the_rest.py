# since: 3.10
def computed(a):
    match a:
        case {A.c: _, **x}:
            return x


def mixed(a):
    match a:
        case {'k': _, A.c: y, **x}:
            return y
        case {A.c: y, A.d: 1 | 2, **x}:
            return x


def within(a):
    match a:
        case C(q={A.c: [z, *_], **x} as y) | C(x, y, z):
            return x, y, z
