"""A loop that ends the body of another one, left by several `break`s."""
# reads otherwise: 3.8+


def several(readline, f, a, b):
    while True:
        line = readline()
        while f(line):
            if a:
                if b:
                    f(5)
                else:
                    line = 1
                    break
            elif b:
                if f(a):
                    line = 3
                    break
                f(8)
            else:
                f(7)


def with_a_last_break(readline, f, a):
    while f(a):
        line = readline()
        while line:
            line = f(line)
            if a:
                f(1)
                continue
            if f(a):
                f(2)
                break
            f(3)
            break
