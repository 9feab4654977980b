"""The comprehension is part of the code around it, and the first case has a guard."""
# since: 3.10


def chosen(u, q):
    match [f(n) for n in u]:
        case z if q:
            f(z)
        case []:
            f()
    match {n: u for n in u if n}:
        case z if [n for n in q if z]:
            f(z)
        case z:
            f()


def in_a_case(u, q):
    match u:
        case {**rest}:
            f(rest)
        case z:
            match {n for n in u}:
                case z if q:
                    f(z)
                case 0:
                    pass
