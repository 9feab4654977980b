# From 3.10 on a call without positional arguments is compiled alike.
# reads otherwise: 3.10 3.11 3.12 3.13 3.14
def star(f, words):
    f(*(), **words)
    f(**words)
    f(*(), **{})
