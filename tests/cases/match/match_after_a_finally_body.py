# since: 3.10
# The code after a finally body is split off from it late.
def f(a, b, subject):
    try:
        a, 0 if b else 0
    except ValueError:
        pass
    finally:
        a()
    match subject:
        case 0:
            first()
        case []:
            second()
