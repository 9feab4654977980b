try:
    a
finally:
    b or c
    d


def f():
    try:
        return a
    finally:
        g(b if c else 3)


try:
    a
finally:
    f(b if c else d)
