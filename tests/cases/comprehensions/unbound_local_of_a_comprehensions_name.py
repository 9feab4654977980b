def after():
    if False:
        x = None
    [x for x in names()]
    return x
