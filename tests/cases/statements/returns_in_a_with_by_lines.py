# reads otherwise: 3.8 3.9 3.10
"""Two `return` after a test are no conditional expression: the test stands before the values."""


def two(self):
    with self.lock:
        if self.state:
            return self.result
        return self.error


def four(self):
    with self.lock:
        if self.state == 1:
            if self.error:
                return "a" % self.error
            else:
                return "b" % self.result
        return "c" % self.state


def conditional(self):
    with self.lock:
        return self.result if self.state else self.error
