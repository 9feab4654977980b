# since: 3.10
# reads otherwise: 3.11 3.12 3.13 3.14
def f(x, value):
    match x:
        case Leaf():
            return False
        case int() | str():
            return None
    while value.next:
        value = value.next
    print(value)
