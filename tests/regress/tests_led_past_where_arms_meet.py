(0 if 0 else a or b) or 0
[] and (0 if 0 else (a and b)) and c
x = (y if (p or q) else a() or b or (c and e)) or f
if (y if p else a or b) or f:
    g()
