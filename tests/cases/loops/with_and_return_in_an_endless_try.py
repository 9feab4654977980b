"""An endless loop around a `try` that goes round on one way only, and leaves by a `with`."""
# reads otherwise: 3.8 3.9 3.10


def raises(self, f, suppress):
    while True:
        try:
            if self.follows:
                f(1)
            else:
                with suppress(ValueError):
                    f(2)
                return self
        except OSError:
            raise ValueError


def names(self, f, suppress):
    while True:
        f(0)
        try:
            for hook in self.hooks:
                hook(self)
            if not self.has:
                return self
            if self.follows:
                f(1)
            else:
                with suppress(ValueError):
                    f(2)
                return self
        except BaseException as exc:
            self.close()
            raise exc
