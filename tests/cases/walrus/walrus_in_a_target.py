((a := b)[0],) = c
for ((d := e).x,) in f:
    pass
a, b[(c := d)] = c, d
