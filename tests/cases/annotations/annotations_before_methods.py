"""Annotations without a value stand before the methods that come after them."""


class Work:
    warmups: int
    runs: int

    def command(self):
        return [self.warmups, self.runs]

    last: int


class Named:
    name: str

    class Inner:
        pass

    value: int = 1
