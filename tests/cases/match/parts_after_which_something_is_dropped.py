# since: 3.10
# A sequence or a mapping is dropped on its own line, wherever its last part stands.
def mapping(value):
    match value:
        case {
            'kind': 'pair',
            'a': str(a),
            'b': str(b)
        }:
            return a, b


def sequence(value, check):
    match value:
        case [*_,
                Point(x=a, y=[b])] if check(a):
            return b
        case [a, *_]:
            return a


def alternatives(value):
    match value:
        case {
            'a': Point(x=a) |
                    [a, _],
            'b': [_, b]
        }:
            return a, b
