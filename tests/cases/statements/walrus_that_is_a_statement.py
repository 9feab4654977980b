def f():
    (a := 5)
    (b := a + 1)
    (z := (y := (x := 0)))
    c = d = 3
    return b, z, y, x, c, d
