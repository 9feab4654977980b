"""A `pass` after another statement leaves its place where the clause ends, from 3.11 on."""
# reads otherwise: 3.8 3.9 3.10


def after_an_assignment(read):
    try:
        read()
    except OSError:
        read.failed = True
        pass
    return 5


def after_a_call(read, close):
    try:
        read()
    except OSError:
        close()
        pass
    close()
