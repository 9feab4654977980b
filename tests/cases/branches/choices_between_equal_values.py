def raised_from(a, b, c):
    raise a from b if c else b


def raised(a, b, c):
    raise c in (a if b else a)


def returned(a, b):
    return a if b else a


def statements_of_their_own(a, b):
    if a:
        return b
    return b


0 ^ (len if print else len)
