"""`break` skips the `else` of a loop, the end of its test does not."""


def search(items, wanted):
    while items:
        if items.pop() == wanted:
            break
        wanted.count()
    else:
        wanted.missing()
    return wanted


def two_tests(a, b, f):
    while a and b.ready:
        if f(a):
            break
        a = a.next
    else:
        f(0)
    f(1)
