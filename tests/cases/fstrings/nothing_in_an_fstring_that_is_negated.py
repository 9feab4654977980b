# reads otherwise: 3.13 3.14
print(f'', not f'')
