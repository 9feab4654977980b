# since: 3.10
# What alternatives meet in is short, so that compilers copy it to each of them.
def classes_that_return(x):
    match x:
        case Node() | Leaf():
            return a
    print(x)


def last_one_takes_everything(x):
    try:
        match x:
            case None | _:
                return False
    except KeyError:
        print(x)


def in_a_loop(items):
    for item in items:
        match item:
            case Leaf() | _:
                return False


def in_a_finally_body(x):
    try:
        return x.close()
    finally:
        match x:
            case [] | _:
                print(x)


def cases_that_are_none(x):
    match x:
        case Color.RED:
            pass
        case Color.BLUE:
            pass
    print(x)
