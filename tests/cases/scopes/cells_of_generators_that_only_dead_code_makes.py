# reads otherwise: 3.8 3.9 3.10 3.11 3.12 3.13 3.14 3.15
def returned(a, value):
    while a:
        value()
    return a
    ((line := item) for x in value)
