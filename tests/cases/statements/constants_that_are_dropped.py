# reads otherwise: 3.8 3.9 3.12+
a
(2, 3) if True else (2, 3)
b
7 if True else 7
c
