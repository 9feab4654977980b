# A constant would be loaded after the code that leaves the region.
def out_of_a_finally():
    try:
        return f', '
    finally:
        for _ in a:
            pass


def out_of_a_with():
    with a:
        return f'}}'


def out_of_a_loop():
    for x in y:
        return f'%'


def constant():
    with a:
        return '}}'
