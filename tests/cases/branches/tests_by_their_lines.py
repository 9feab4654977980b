"""Tests of several `if`: up to 3.9 all jumps of one test have the line of its statement."""


def one_in_the_other(self, message):
    if self.waiter is not None:
        if self.waiter.cancel(message):
            return True
    self.must_cancel = True
    return False


def over_lines(a, b, c):
    if (a == 1 and
            b(a) and
            c):
        c(a)
    return a


def in_a_loop(a, b, c):
    for x in c:
        if x.dest is not a:
            if not hasattr(b, x.dest):
                c(x)
                b(x)


def one_after_the_other(a, b, c):
    for x in c:
        if x == a:
            continue
        if x == b:
            continue
        c(x)
        b(x)


def value_on_the_next_line(h):
    if h.startswith(b'BM'):
        return 'bmp'
