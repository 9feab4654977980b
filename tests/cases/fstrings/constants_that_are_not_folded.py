# reads otherwise: 3.14+
# Compilers put constants together that are written as such, and not those that f-strings make.
(f'a' + 'b').c
x = f'a' * 3
x = 3 * f'a'
x = {f'a': y, 'b': z}
x = {b'a': y and w, f'b': z if z else 2}
x = {**y, f'a': z, 2: y}
