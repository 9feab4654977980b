"""The first test of a list shows where the list starts, a `not` before it included."""
# reads otherwise: 3.8 3.9 3.10


def two_tests(xs, w):
    for x in xs:
        if not x.m():
            continue
        if x is w:
            w.add(x)
    return w


def two_tests_of_attributes(xs, w):
    for x in xs:
        if not x.m():
            continue
        if x.abc in w.defgh:
            w.add(x)
    return w


def one_negated_test(xs, w):
    for x in xs:
        if not x.abc and w.defgh is not None:
            w = x
    return w


def a_negated_test_and_more(xs, w):
    for x in xs:
        if not x.abc and w.defgh is not None:
            w = x
            x(w)


def a_test_and_a_break(xs, w):
    for x in xs:
        w()
        if x.abc in w.defgh:
            w.add(x)
            break
    return w


def an_elif_over_several_lines(xs, w):
    for x in xs:
        if x.a:
            w.add(x)
        elif (
            w.can is not None
            and x not in w.can
        ):
            w.drop(x)
    return w


def an_if_over_several_lines(xs, w):
    for x in xs:
        if x.a:
            w.add(x)
            continue
        if (
            w.can is not None
            and x not in w.can
        ):
            w.drop(x)
    return w


def comparisons_of_a_choice(self, f):
    return f(
        options=(
            {**self.options, **self.more}
            if self.options is not None
            or self.more is not None
            else None
        ),
    )
