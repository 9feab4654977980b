# reads otherwise: 3.13+
print(f'', not f'')
