# python: 3.12 3.13
0 >= {0: 0 for a in b} is {}
while 0:
    pass
