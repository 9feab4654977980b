"""Lists that nobody sees again are changed all the same where somebody has written it."""
del [0][0]
del [a and b, []][c], d[e]


def f(a):
    del [a, []][g(a)]
    [a][0] = g(a)
    [a, g()][0] += 1
