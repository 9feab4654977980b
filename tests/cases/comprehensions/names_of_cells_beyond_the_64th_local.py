# For locals from the 64th on, the compiler knows what is bound within a basic block only.
def many():
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = a8 = a9 = 0
    b0 = b1 = b2 = b3 = b4 = b5 = b6 = b7 = b8 = b9 = 0
    c0 = c1 = c2 = c3 = c4 = c5 = c6 = c7 = c8 = c9 = 0
    d0 = d1 = d2 = d3 = d4 = d5 = d6 = d7 = d8 = d9 = 0
    e0 = e1 = e2 = e3 = e4 = e5 = e6 = e7 = e8 = e9 = 0
    f0 = f1 = f2 = f3 = f4 = f5 = f6 = f7 = f8 = f9 = 0
    g0 = g1 = g2 = g3 = g4 = g5 = g6 = g7 = g8 = g9 = 0
    n = 1
    kept = [n for n, m in a0 if m]
    return kept, lambda: n


def one(rows):
    n = 1
    unbound = [n for row in rows for n in row if row for n in n]
    early = [n for row in n for n in row[n]]
    return unbound, early, lambda: n
