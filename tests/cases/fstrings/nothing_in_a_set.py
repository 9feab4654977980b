# reads otherwise: 3.14+
"""An f-string of nothing is no constant of the text, so a set that has it is made each time."""


def looked_through(x, y):
    for z in {f'', 1}:
        x in {f''}
    return x < y in {f'', 'a'}
