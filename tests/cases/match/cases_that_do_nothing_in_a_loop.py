# since: 3.10
# A case that does nothing leads to where the subject is loaded again.
def all_of_them():
    while True:
        match item:
            case 1.5:
                pass
            case True:
                pass


def the_first_one():
    while True:
        match item:
            case 'k':
                pass
            case True:
                print(item)
