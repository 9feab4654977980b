# A compiler looks through a constant operand, but not through what another operation comes to.
# reads otherwise: 3.8 3.9 3.14+
def operands(a, b, c):
    x = (() and ()) or c
    y = a and (1 or 1) and b
    z = a or ('' and '') or b
    return x, y, z


(() and ()) and print
