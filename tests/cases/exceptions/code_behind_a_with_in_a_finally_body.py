# reads otherwise: 3.9 3.10 3.11 3.12 3.13 3.14
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
