"""What 3.14 loses tells where brackets stood that mean nothing else."""

# reads otherwise: 3.8 3.9 3.10 3.11 3.12 3.13


def under_a_finally(a, b, c, d, e):
    try:
        a = (b or c) or d
        a = (b or c or d) or e
        a = (b or c) or (d or e) or a
        a = (b and c) and d and e or a
        a = b or c or d
        a = ((b or c) or d) and e
        return (b and c) and d
    finally:
        e()


def under_a_with(a, b, c, d):
    with a:
        b = c if c is d else (a and b or b) or [a for b in d if c] or d
        b((f'{a}' and (c for c in d)) and c)
