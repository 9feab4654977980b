def behind():
    if False:
        x = None
    [x for x in [1]]
    return x
