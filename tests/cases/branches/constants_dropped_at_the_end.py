"""A constant that is dropped after the last jump is still loaded."""
# since: 3.10
# reads otherwise: 3.10+


def behind_a_loop(name):
    while name:
        try:
            break
        except:
            pass
    else:
        1 if 1 else 1


def behind_a_return(name):
    if name:
        return
    else:
        1 if 1 else 1
