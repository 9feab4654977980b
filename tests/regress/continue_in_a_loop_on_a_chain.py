# python: 3.8 3.10 3.12 3.13
while a > b >= c < d:
    if e:
        f()
        continue
