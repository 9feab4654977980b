"""Comparisons in a row, in the guard of a first case that takes everything."""
# since: 3.10


def short(a, b, c, d, e):
    match a.x:
        case _ if b < c < d:
            return 1
        case 3:
            return 2
    return e


def long(a, b, c, d, e):
    match a.x:
        case _ if b < c < d < e:
            return 1
        case 3:
            return 2
    match a.x:
        case name if b < c.d < d() < e < a:
            b(name)
        case [3, other]:
            c(other)
        case _ if a == b == c != d:
            d()
        case _:
            e()


while a:
    match b():
        case _ if a < b in c is not d:
            break
        case None:
            c()
