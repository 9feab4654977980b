"""Irrefutable cases, each with a guard, before other cases."""
# reads otherwise: 3.10+
# since: 3.10


def two(self, stride, x, f):
    match x:
        case _ if f(stride, 1):
            return 1
        case _ if f(stride, 0) and self:
            return 0
        case int():
            return self.x()
        case _:
            return 3


def one(self, stride, x, f):
    match x:
        case _ if f(stride, 1) or self:
            return 1
        case int():
            return self.x()
        case _:
            return 3
