# reads otherwise: 3.8+
def with_a_return_behind(args, n):
    for arg in args:
        if isinstance(arg, int):
            if arg.ok() and -5 <= arg.value < n:
                continue
        break
    else:
        return n
    return None


def with_more_behind(args, n):
    for arg in args:
        if 0 <= arg.value < n:
            continue
        break
    print(n)


def breaks_of_their_own(args, n):
    for arg in args:
        if arg == n:
            break
        if 0 <= arg.value < n:
            break
    else:
        return n
    return None
