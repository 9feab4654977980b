"""Decorated methods and the usual attributes."""


class Point:
    __slots__ = ('x', 'y')
    __hash__ = None

    def __init__(self, x, y):
        self.x = x
        self.y = y

    @property
    def length(self):
        return (self.x ** 2 + self.y ** 2) ** 0.5

    @length.setter
    def length(self, value):
        self.x = value

    @staticmethod
    def origin():
        return Point(0, 0)

    @classmethod
    def of(cls, pair):
        return cls(*pair)

    def __getitem__(self, key):
        return (self.x, self.y)[key]
