# since: 3.11
def f():
    try:
        a
    except TypeError as e:
        try:
            b(e)
        except* KeyError as group:
            c(group)
        d
