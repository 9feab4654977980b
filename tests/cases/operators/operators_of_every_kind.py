"""Arithmetic, bits, matrices, and who binds tighter."""


def binary(a, b):
    return a + b, a - b, a * b, a / b, a // b, a % b, a ** b, a @ b, a & b, a | b, a ^ b, a << b, a >> b


def unary(a):
    return -a, +a, ~a, not a, - -a, -(+a), not not a


def precedence(a, b, c):
    x = a + b * c, (a + b) * c, a - (b - c), a - b - c, a ** b ** c, (a ** b) ** c
    y = -a ** b, (-a) ** b, a ** -b, ~a | b & c ^ a, (a | b) & c, a << b + c, (a << b) + c
    z = not a == b, (not a) == b, a and (b or c), (a, b) + c, (lambda: a)() + 1
    return x, y, z


def on_literals(a):
    return 1 + a, a + 1.5, 'a' % a, 'a' * a, -1 + a, (1).real, 1.5.real, -a + -1
