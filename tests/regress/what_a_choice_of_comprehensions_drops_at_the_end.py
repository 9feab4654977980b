# python: 3.12 3.13
try:
    {0 for a in b for c in d} if e else f
    pass
    pass
except* E:
    pass
