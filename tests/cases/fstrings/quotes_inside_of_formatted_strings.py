"""What is inside the braces needs other quotes before 3.12."""


def quotes(x):
    return f"{x['a']} {x['b']!r}", f'{x["it"]}\'s', f"{', '.join(x)}"


def nested(x):
    return f'{f"{x}"!r:>{f"{x}"}}'


def lines(x):
    return f'{x}\n{x}\t\\'
