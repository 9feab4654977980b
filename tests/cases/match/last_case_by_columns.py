# since: 3.10
# reads otherwise: 3.10
"""What follows cases that all leave is a last `case _` where its column is theirs."""


def raises(message):
    match message:
        case {"reply": str()}:
            pass
        case {"signal": "end"}:
            pass
        case _:
            raise ValueError(message)


def returns(node):
    match node:
        case [1, *_]:
            return True
        case _:
            return False


def returns_after_it(node):
    match node:
        case [1, *_]:
            return True
    return False
