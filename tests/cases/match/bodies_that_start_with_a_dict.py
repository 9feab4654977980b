"""An empty dict is what a mapping's rest is made of, and also what a body may start with."""
# reads otherwise: 3.10+
# since: 3.10


def alternatives(form, F, fields, f):
    match form:
        case F.A | F.B | F.C:
            found = {}
            for k in fields:
                found[k] = f(k)
            return found
        case _:
            raise ValueError(form)


def classes(x, f):
    match x:
        case int():
            found = {}
            f(found)
        case [a, b]:
            found = {}
            f(found, a, b)


def rest(x, f):
    match x:
        case {'a': 1, **rest}:
            found = {}
            f(found, rest)
