# An `elif` follows on the next line.
def look(part, out, other):
    for one in part:
        if one is None:
            out(one)
        elif isinstance(one, int):
            raise ValueError(one)
        elif isinstance(one, str):
            raise KeyError(one)
        else:
            other(one)
    return out


def look_once(part, out):
    if part:
        out(part)
    elif part == 1:
        raise ValueError(part)
    elif part == 2:
        raise KeyError(part)
    out(2)
