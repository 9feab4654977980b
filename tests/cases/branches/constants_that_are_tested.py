# reads otherwise: 3.10+
# Compilers before 3.10 load them and jump; a constant that is negated would be another one.
if not (a or None or b and c or [] or d not in e):
    f
