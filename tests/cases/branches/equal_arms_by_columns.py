# reads otherwise: 3.8 3.9 3.10
def scope(credentials, data):
    return str(credentials.scope if data.scope is None else data.scope)


def first(matching, candidates):
    return (matching if matching else candidates)[0]


def last(matching, candidates):
    return matching[0] if matching else candidates[0]
