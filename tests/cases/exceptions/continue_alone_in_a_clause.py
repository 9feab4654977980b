# reads otherwise: 3.8 3.9 3.10
"""A clause that holds a `continue` alone, and one that holds a `pass`, at the end of a loop."""


def read(self):
    while True:
        try:
            data = self.receive()
            if not data:
                break
            self.process(data)
        except InterruptedError:
            continue
        except BlockingIOError:
            break


def skip(names):
    for name in names:
        try:
            remove(name)
        except KeyError:
            pass
