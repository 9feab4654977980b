0 < a < b
x in 0 <= c < d < e
for x in y:
    0 < a < b
