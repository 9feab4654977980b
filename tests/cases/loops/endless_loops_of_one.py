# reads otherwise: 3.8 3.9
"""The constant of the test stays in the code up to 3.11, its width in the NOP from 3.12 on."""


def one_and_more(a):
    while 1:
        b = a(2)
        if b == 3:
            break
        a(b)
    a(3)
    a(b)


def two_loops(a):
    while 1:
        b = a
        while 1:
            b = b(1)
            if b is a:
                break
        a(2)
