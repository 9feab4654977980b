"""`:=` in every place that takes an expression."""
import re


def tests(text, f):
    if (m := re.match('a', text)):
        return m
    if (n := f(text)) > 1 and (k := f(n)):
        return n, k
    while (line := f()):
        text += line
    while (chunk := f(1)) is not None:
        text += chunk
    return text


def values(x, f):
    y = [(z := x + 1)]
    f((a := x), b=(c := a))
    d = [(e := x), e]
    g = f(x, (g := x))
    return y, z, a, c, d, e, g, (h := x)


def comprehensions(items, f):
    a = [y for x in items if (y := f(x))]
    b = any((w := x) for x in items)
    return a, b, y, w


def lambdas(x):
    return lambda: (y := x) + y
