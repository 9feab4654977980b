"""No statement of theirs can bind a name, so a comprehension does."""

# since: 3.12
# reads otherwise: 3.12 3.13


class Bases[*T](0 if True else [lambda: name for name in ()]):
    pass


class Keywords[T](0 if True else lambda: T, key=name):
    pass


def annotated[T](a: 0 if True else T):
    pass


def returned[T]() -> 0 if True else [lambda: name for name in ()]:
    pass


def starred[T](*args: *(0 if True else [lambda: name for name in ()])):
    pass


type Bound[T: 0 if True else [lambda: name for name in ()]] = 0


def around(name):
    def annotated(a: 0 if True else name):
        pass

    class Bases[T](0 if True else name):
        pass

    class Keywords[T](0 if True else [lambda: name for name in ()], key=name):
        pass

    class Variables:
        variable: 0 if True else name

    return annotated, Bases, Keywords, Variables
