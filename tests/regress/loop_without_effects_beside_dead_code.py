# python: 3.10
if a:
    while True:
        pass
else:
    try:
        b
    except:
        pass
    else:
        0
