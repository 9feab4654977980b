"""A name that one function makes global is not its neighbour's."""
x = 1


def outer():
    x = 2

    def reads_local():
        return x

    def reads_global():
        global x
        return x

    return reads_local, reads_global


def deletes():
    global x
    del x
