# python: 3.12 3.13
def f():
    a and [0 for b in c]
0 if 0 else [0 for a in b]
