# reads otherwise: 3.9+
def f():
    return {1, 1.0, True}, {1, 2, 2}, {(), (), ()}, {1, 2, 3}
