# reads otherwise: 3.8 3.9 3.10 3.11 3.12 3.14+
if (f'',):
    print(1)
chosen = 2 if ('a', f'') else 3
either = (f'', f'') or chosen
