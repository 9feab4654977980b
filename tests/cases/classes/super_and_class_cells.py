"""`super()` and `__class__` close over a hidden variable of the class."""


class Base:
    def run(self, x):
        return x


class Derived(Base):
    def run(self, x):
        return super().run(x) + 1

    def kind(self):
        return __class__

    @classmethod
    def make(cls):
        return super().__new__(cls)

    def nested(self):
        def inner():
            return __class__.__name__
        return inner, super(Derived, self).run(1)

    def listed(self):
        return [super(Derived, self).run(x) for x in range(3)]
