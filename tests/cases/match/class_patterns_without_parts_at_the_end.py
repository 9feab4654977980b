# since: 3.10
def last_of_a_sequence(pair):
    match pair:
        case [int(), str()]:
            return 1
        case [_, float()]:
            return 2
        case [1, bytes()]:
            return 3
    return 4


def of_a_display(left, right):
    match (left, right):
        case (_, '=='):
            found = 1
        case (str(), list()):
            found = 2
        case (set() | dict(), set()):
            found = 3
        case _:
            found = 4
    return found


def last_of_a_mapping(table):
    match table:
        case {'key': int()}:
            return 1
        case {'key': str(), 'other': dict()}:
            return 2
    return 3
