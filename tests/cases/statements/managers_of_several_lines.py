"""Managers of one `with` on several lines, by the column of the second one."""


def continued(a, b, c):
    with a('x', b) as d, \
         b(d):
        c()


def hanging(a, b, c):
    with a('x', b) as d, \
            b(d) as e, c() as f:
        with a(e, f):
            c()


def nested(a, b, c):
    with a('x', b) as d:
        with b(d):
            c()


def of_one_line(a, b, c):
    with a(b), b(c) as d:
        with c:
            d()
