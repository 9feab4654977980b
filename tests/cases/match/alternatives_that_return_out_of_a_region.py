# since: 3.10
def protected(a):
    try:
        match a:
            case Node() | Leaf() | None:
                return False
    except OSError:
        use(a)


def at_once(a):
    try:
        match a:
            case Node() | Leaf() | 4:
                return
        use(a)
    except OSError:
        use(a)
