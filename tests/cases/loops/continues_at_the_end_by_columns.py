"""A `continue` where the round ends anyway leaves its place in the jump."""
# reads otherwise: 3.8 3.9 3.10


def in_an_arm(xs, f):
    for x in xs:
        if x.a:
            f(x)
            continue
    return f


def before_an_else(xs, f):
    for x in xs:
        if x.a:
            f(x)
        elif not f:
            f = 1
            continue
        else:
            f(x.b)
            f(x.c)
    return f


def before_a_return(self):
    while True:
        one = self.get()
        if not one:
            return None
        if one.is_old():
            one.close()
            self.remove(one)
            continue
        else:
            return one


def in_a_clause_that_binds(xs, f):
    for x in xs:
        try:
            yield x()
        except ValueError as e:
            f(e)
            continue


def not_written(xs, f):
    for x in xs:
        try:
            yield x()
        except ValueError as e:
            f(e)
        else:
            if f:
                f(x)
