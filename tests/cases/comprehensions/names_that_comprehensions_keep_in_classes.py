"""Up to 3.13 a comprehension in a class keeps all that it mentions, in dead code too."""
# reads otherwise: 3.8 3.9 3.10 3.11 3.14+


class Holder:
    [a for b in c]
    [[a for b in c] for d in e]
    [lambda: a for b in c]
    [0 if True else a for b in c]
