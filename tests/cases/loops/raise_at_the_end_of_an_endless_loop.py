"""An endless loop in a `with`, with a `break` to what follows and a `raise` at its end."""
# reads otherwise: 3.14

def in_a_with(f, n):
    with f(2):
        s = 0
        while True:
            s += f(n)
            if s < 1:
                break
            if n > 1000:
                raise RuntimeError('limit')
    s = f(s)
    return s


def by_a_chain(a, p, q, f):
    if a is None:
        while True:
            a = f(a)
            if f(a, p) == f(a, q) == -1:
                break
    elif f(a, p) != -1 or f(a, q) != -1:
        return False
    return a, p
