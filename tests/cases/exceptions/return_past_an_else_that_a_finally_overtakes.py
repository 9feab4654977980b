def out_of_finally(x):
    try:
        try:
            if x:
                return
            a()
        finally:
            b()
    except KeyError:
        pass
    else:
        c()
    finally:
        raise V(x)
