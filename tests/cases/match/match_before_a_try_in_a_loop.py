# since: 3.10
# Where the last case fails to is the front of the loop, not the body of the `try` that it starts
# with.
def f(a):
    match a:
        case []:
            pass
    while True:
        try:
            g(a)
        except ValueError:
            pass
