# reads otherwise: 3.8 3.9
a
(2, 3) if True else None
b
7 if True else None
c
