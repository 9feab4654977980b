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
