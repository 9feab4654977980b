def first(v):
    return (1.0 if v else 0.0), False


def none_twice(v):
    return ("x" if v else None), None


def in_a_dictionary(v):
    return {"x": (1 if v else 2, 3)}


def in_a_call(v, f):
    return f((1 if v else 2, 3))


def three_ways(v, w):
    return (1 if v else 2 if w else 3), 4


def alone(v, w):
    return ((1 if w else 2) if v else 3,)


def negative(v, f):
    return f((False if v else None, -1))


def last(v):
    return False, (1.0 if v else 0.0)


def kept(v):
    x = (1.0 if v else 0.0), False
    return x


def raised(v, f):
    raise f((1 if v else 2, 3))
