"""A free variable is taken for that of a comprehension in the same scope that came first."""

# since: 3.14


def read[T](a: {0 for T in first}, b: [T for x in second]):
    pass


def captured[T](a: (T for x in first), b: {0 for T in second}):
    pass


def read_first[T](a: [T for x in first], b: {0 for T in second}):
    pass


def handed_on_first[T](a: [lambda: T for x in first], b: {0 for T in second}):
    pass


def captured_by_another[T](a: {0 for T in first}, b: [lambda: T for x in second]):
    pass


def within_another[T](a: [({0 for T in x}, [lambda: T for y in x]) for x in first]):
    pass


type Iterated[T] = [0 for x in {0 for T in first} if T]
