# reads otherwise: 3.9 3.10 3.11 3.12 3.13 3.14
def f():
    return {1, 1.0, True}, {1, 2, 2}, {(), (), ()}, {1, 2, 3}
