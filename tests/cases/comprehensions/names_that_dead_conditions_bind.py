"""Behind a condition that is never true, conditions and loops still say what is a cell, and where."""
# since: 3.12
# reads otherwise: 3.12 3.13 3.14 3.15


def f(x, y, z):
    print({0: 0 for a in x if {0 for b in y} if 0 if (b for c in z) for b in z})
    print({0: 0 for a in x if {c for c in y for d in y} if 0 for d, b, c in z if (b for e in z)})
    return (0 for a in '' if (b for c in x for d in a) for b in y if f'' if [0 for a in z])
