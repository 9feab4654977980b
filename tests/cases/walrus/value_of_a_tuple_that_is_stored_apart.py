# since: 3.8
def second(k, a):
    x, y = k, (c := a)


def of_three(k, a, m):
    x, y, z = k, (c := a), m


def overwritten(k, a):
    x, y = k, (x := a)


first, second_one = first, (named := second)
