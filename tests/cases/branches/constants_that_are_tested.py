"""Some constants are tested at run time, up to 3.9, as parts of longer conditions."""
# reads otherwise: 3.8 3.9 3.10 3.11 3.12 3.13 3.14


def nothing_depends_on_it():
    if not 1 and 1 and 1:
        pass
    if 1 and 1:
        pass
    if 1 or 1:
        pass
    if 1 and 1 or 1 and 1 and 1 or not 1 and 1:
        pass


def something_does(f):
    if not 1 and f:
        f(1)
    if not (1 and f):
        f(2)
    if not (1 and 1):
        f(3)
    while 0 and 1:
        f(4)
    while not 1 and 1:
        f(5)
