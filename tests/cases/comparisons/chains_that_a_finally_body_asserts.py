def asserts():
    try:
        a
    finally:
        assert value < result <= name < a, b
        c


def raises():
    try:
        a
    finally:
        if not path < node <= result < x:
            raise d
        c


def asserts_in_a_loop():
    try:
        a
    finally:
        for item in data:
            assert path < node.close <= result < key
            break
        c
