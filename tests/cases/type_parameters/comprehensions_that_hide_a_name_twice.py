"""A name that only comprehensions bind is nobody else's, however often they bind it."""
# since: 3.12


class Box[T: item]([0 for item in rows for item in rows]):
    pass


type Found = [0 for item in rows for row in rows if [0 for item in row] and item]


def first[T](*, box: [0 for item in rows for item in rows]):
    return item
