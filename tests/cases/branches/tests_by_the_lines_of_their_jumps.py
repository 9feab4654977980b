"""Two tests of one place: one `if` or two, by their jumps. In 3.10 a comparison moves these."""


def one_in_the_other(self, message):
    if self.waiter is not None:
        if self.waiter.cancel(message):
            return True
    self.must_cancel = True
    return False


def after_two(a, b, f):
    if a == 1 and f:
        if not b:
            f(a)
    return b


def over_lines(a, b, f):
    if (a == 1 and
            b(a) and
            f):
        f(a)
    while (a and
           b(a)):
        a = f(a)
    return a


def in_the_last_operand(a, b, f):
    if not a:
        if f(a) and (b or a == 1):
            f(b)
    return b


def with_a_line_between(a, b, f):
    if a == 1:

        if b == 1:
            f(a)
    return b


def one_after_the_other(a, b, f):
    for x in f:
        if x == a:
            continue
        if x == b(
                a):
            continue
        if x.is_done(a,
                     b):
            continue
        if x == 1:
            continue
        f(x)
        b(x)


def leaves_in_either(a, b, f):
    if a == 1 or \
       b == 2:
        return None
    f(a)
    return b


def with_a_comment_in_it(a, b, f):
    if a == 1 and (
            # what else there is
            b == 1):
        f(a)
    elif f(b):
        f(f)
    else:
        f()
    return b
