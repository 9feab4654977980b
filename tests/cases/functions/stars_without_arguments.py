# From 3.10 on a call without positional arguments is compiled alike.
# reads otherwise: 3.10+
def star(f, words):
    f(*(), **words)
    f(**words)
    f(*(), **{})
