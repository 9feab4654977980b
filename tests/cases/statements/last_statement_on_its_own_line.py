"""The last statement of a function leaves nothing but its line."""


def documented():
    """Say nothing."""
    pass


def found(names, wanted):
    for name in names:
        if name == wanted:
            return name
    return None


def told(a):
    if a:
        a.run()
    return


def untold(a):
    if a:
        a.run()


def first(names):
    for name in names:
        if name:
            print(name)
            break


def ignored(a):
    a.start()
    try:
        a.run()
    except OSError:
        pass
