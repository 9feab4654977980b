# since: 3.10
# A guard that is constant and false takes the body with it: alternatives meet before the next
# case.
def of_the_subject(x):
    match x:
        case 1 | 2 if False:
            pass
        case A() if c:
            print(1)


def of_unlike_patterns(x):
    match x:
        case 1 | {b'a': 2, b'b': y.z} if False:
            pass
        case {b'c': 3} | (4 | A(1)) if False:
            pass
        case 3 if d:
            print(2)


def of_an_element(x):
    match x:
        case [A() | 3] if False:
            pass
        case 3 if d:
            print(3)
