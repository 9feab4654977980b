# reads otherwise: 3.8 3.9 3.10
"""One test on several lines, by the column of its second operand."""


def aligned(a, b, c):
    if (a is not None and
        not b(a)):
        c()
    return a


def hanging(a, b, c):
    if a is not None and (
        b.x is not None or b.y is not None
    ):
        c()


def further(self, loop):
    self.loop = loop
    if (self.watcher is not None and
            self.thread() is self.main()):
        self.watcher.attach(loop)


def nested(a, b, c):
    if a is not None:
        if not b(a):
            c()
    return a
