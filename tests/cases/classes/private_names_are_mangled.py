"""Names with two underscores are mangled with the class's own name."""


class Private:
    __count = 0

    def __init__(self, __value):
        self.__value = __value
        self.__class__.__count += 1
        self.__dunder__ = __value
        self._single = self.__hidden(__value)

    def __hidden(self, value):
        __local = value
        return __local, self.__value, [self.__value for __local in value]

    class __Nested:
        __inner = 1

    class _Leading:
        def method(self):
            return self.__x


class _Underscored:
    def method(self):
        return self.__attribute
