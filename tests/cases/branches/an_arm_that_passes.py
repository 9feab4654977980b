"""An arm that only passes, with an `else`: up to 3.9 the direction of the jump tells."""
# reads otherwise: 3.10+


def before_a_call(a, b, c):
    if a == b:
        pass
    else:
        c(a)
    c(b)


def before_an_elif(whence, offset, size):
    if whence == 0:
        pass
    elif whence == 1:
        offset += size
    else:
        raise ValueError(whence)
    return offset
