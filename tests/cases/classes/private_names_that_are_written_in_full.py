# reads otherwise: 3.8 3.9 3.10 3.11 3.12
class Counter:
    def __init__(self):
        self._Counter__count = 0
        self.__step = 1

    def add(self):
        self._Counter__count += self.__step
        return self._Counter__count
