"""`[a] = b` is narrower than `(a,) = b`, from 3.11 on."""
# reads otherwise: 3.8 3.9 3.10


def both(pairs):
    [first] = pairs
    (second,) = pairs
    third, = pairs
    [pairs.head] = first
    for [fourth] in pairs:
        print(fourth)
    return first, second, third
