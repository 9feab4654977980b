# since: 3.10
def of(value):
    match value:
        case 1:
            return 2
        case _ as other:
            raise TypeError(other)


def plain(value):
    match value:
        case 1:
            return 2
        case other:
            raise TypeError(other)
