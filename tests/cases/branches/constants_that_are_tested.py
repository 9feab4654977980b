# reads otherwise: 3.10 3.11 3.12 3.13 3.14
# Compilers before 3.10 load them and jump; a constant that is negated would be another one.
if not (a or None or b and c or [] or d not in e):
    f
