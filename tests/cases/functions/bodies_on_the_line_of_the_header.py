"""After a header of known width, the column tells `pass` from `return None`, from 3.11 on."""
# reads otherwise: 3.8 3.9 3.10


def module_level(a, *b, c, **d): return None


class Zone:
    def utcoffset(self, moment): return None

    def dst(self, moment): pass

    @classmethod
    def first(cls): pass

    @staticmethod
    def second(a, /, b, *, c): return None

    @classmethod
    def third(cls):
        return None

    async def fourth(self): return None


def outer():
    class Inner:
        @property
        def fifth(self): pass

    return Inner
