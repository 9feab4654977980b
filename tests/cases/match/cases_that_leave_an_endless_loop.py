# since: 3.10
def behind_the_last_case(name, key):
    while True:
        match name:
            case Node():
                pass
            case other:
                break
    key(name)
    return other


def behind_a_guard(a):
    while True:
        match a:
            case _ if a:
                pass
            case a:
                break
    try:
        a
    finally:
        b
