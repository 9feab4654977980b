# python: 3.12 3.13
0 if a else 0
pass
pass
