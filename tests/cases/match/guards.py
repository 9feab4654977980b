"""A guard is tested after the names are bound."""
# reads otherwise: 3.10 3.12 3.13 3.14
# since: 3.10


def guarded(x, limit, f):
    match x:
        case [a, b] if a > b:
            return f(a)
        case [a, b] if a and b or limit:
            return f(b)
        case int(n) if n > limit:
            f(n)
    return x


def conditions(e, g, a, b):
    match e:
        case [1, _] if g(e) and not a:
            g(0)
        case A() if not a and not b and a < e < b:
            g(1)
        case A() if (a or not b) and (e or not g):
            g(2)
    return g(e, e, e.a, e.b)
