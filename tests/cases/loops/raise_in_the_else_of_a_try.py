# What only raises, and lies in front of where the test leads, is in the loop.
while a:
    try:
        b
    except:
        c
    else:
        raise d


def f():
    while a:
        try:
            b
        except:
            c
        else:
            raise d
    e
