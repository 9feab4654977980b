# reads otherwise: 3.9+
def swallowed(a, result):
    try:
        result()
        while True:
            pass
    finally:
        with a:
            raise ValueError
    result = 1
    return result
