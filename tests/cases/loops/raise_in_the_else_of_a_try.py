# A block that only raises, before the target of the test, is in the loop.
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
