# since: 3.12
class Raised[T]:
    raise Refused from [T if flag else T]


class RaisedOnly[T, U](Base):
    raise (T if flag else T)[U]
