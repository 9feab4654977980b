# reads otherwise: 3.8 3.9 3.10 3.11 3.14 3.15
def ends(x, y):
    a = (x and y) and 5
    b = (x or y) or 5
    return [(x and not y) and 5, a, b]
