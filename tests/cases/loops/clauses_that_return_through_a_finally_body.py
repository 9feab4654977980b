# The end of a clause that has a name lies in the loop, the finally body that its return runs not.
def returns_a_value(a, b):
    try:
        while a():
            try:
                b()
            except OSError as e:
                return e
    finally:
        a.close()
    return b


def returns_nothing(a, b):
    try:
        while a():
            try:
                b()
            except OSError as e:
                return
            except ValueError:
                b.reset()
    finally:
        if b:
            a.close()
    b.flush()


def returns_one_of_two(a, b):
    c = 0
    try:
        while c < len(a):
            d = a[c]
            try:
                b(d)
            except OSError as e:
                if e.args[0] in (a, b):
                    return c
                return b
            c += 1
    finally:
        del a[:c]
    return b()
