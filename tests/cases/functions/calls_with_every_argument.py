"""Arguments of calls in every order that the grammar allows."""


def positional(f, a, b):
    return f(), f(a), f(a, b)


def named(f, a):
    return f(x=a), f(a, x=a, y=1)


def starred(f, a, b):
    return f(*a), f(*a, *b), f(1, *a, 2)


def mapped(f, a, b):
    return f(**a), f(x=1, **a), f(**a, **b), f(**a, x=1)


def mixed(f, a, b):
    return f(1, *a, x=2, **b), f(*a, 1, **b)


def methods(a, b):
    a.run(b)
    a.b.run(*b, key=1)
    return a.run(b).run().run(x=b)
