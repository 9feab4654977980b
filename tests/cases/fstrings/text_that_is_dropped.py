# reads otherwise: 3.12 3.13 3.14
a
f'text'
b
