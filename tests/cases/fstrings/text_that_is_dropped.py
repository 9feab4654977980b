# reads otherwise: 3.12+
a
f'text'
b
