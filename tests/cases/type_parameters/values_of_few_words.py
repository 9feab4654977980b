"""Values that are evaluated later hold one expression: no docstring, no `return` to leave out."""
# since: 3.12
type Nothing = None
type Number = 3
type Text[T] = 'a'
type Bound[T: None, S: 'b'] = (T, S)


def local(a):
    type Chosen[T: lambda: a] = T if True else a
    type Other = Chosen if True else a
    return Other


class Holder:
    global shared
    own = 3
    type Own = own
    type Shared = (shared, own)
    type Inner[T: shared] = T
