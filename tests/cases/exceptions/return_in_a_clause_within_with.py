# reads otherwise: 3.9
def check(self, event, func):
    with self.scope(event):
        try:
            func()
        except ValueError:
            self.show()
            return
        self.count()
    self.end(1, 2)
    self.done()


def cleaned(self, event, func, expected):
    try:
        with self.scope(event):
            try:
                func()
            except ValueError as error:
                self.same(error, expected)
                return
            self.count(expected)
        previous = self.register(event)
        with self.scope(event):
            func()
            self.same(previous, expected)
    finally:
        self.close()
