# since: 3.10
# The case before the default has the subject to itself: the first test after it is no guard.
def mapping(subject, test):
    match subject:
        case {}:
            first()
        case _:
            assert test, 'no mapping'


def class_with_name(subject, test):
    match subject:
        case Point() as point:
            first(point)
        case _:
            a = 1 if test else 2
            second(a)


def loop(subject, test):
    match subject:
        case []:
            first()
        case _:
            while test():
                second()


def guard(subject, test):
    match subject:
        case {}:
            first()
        case _ if test:
            second()
        case _:
            third()
