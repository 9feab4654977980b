# python: 3.8 3.12 3.13
def f(x):
    class A:
        print(x)
        while 0:
            x = 1

    return A, lambda: x
