"""A `while` at the start of `while True` jumps back to where both start."""
# reads otherwise: 3.8 3.9


def two_loops(s, a, b):
    while True:
        while a < b and s[a] in s:
            a += 1
        while b > a and s[b] in s:
            b -= 1
        if s[a]:
            return a


def an_if(s, a, b):
    while True:
        if a < b and s[a] in s:
            a += 1
            continue
        b -= 1
        if s[a]:
            return a


def a_loop_and_a_test(read, size):
    while True:
        while size == 0:
            read(2)
            size = read(3)
            if size == 0:
                read(4)
        read(size)
        if size == 1:
            return
