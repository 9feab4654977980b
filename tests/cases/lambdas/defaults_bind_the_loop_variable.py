"""Defaults of lambdas in loops and comprehensions."""


def bind(names):
    made = [lambda name=name: name for name in names]
    for number in range(3):
        made.append(lambda x, *, n=number: x + n)
    return made
