while [0 for a in b] or c or b'x':
    d
while {a: 0 for a in b} or c or d or 't':
    e
