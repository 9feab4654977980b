"""`is not None` at the end of a chain, which is a jump of its own since 3.11."""


def asserted(self, old):
    assert self.reason is old is not None
    self.reason += 1


def tested(self, old):
    if self.reason is old is not None:
        self.reason += 1
    if self.reason is old() is None:
        self.reason += 2
    return self < old is not None
