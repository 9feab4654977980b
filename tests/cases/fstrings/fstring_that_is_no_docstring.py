# From 3.12 on nothing is left of it.
# reads otherwise: 3.12+
def f():
    f"not a docstring"


def g(x):
    x()
    f"a remark"
    return x
