"""The parentheses of a class take what a call takes."""
import abc


class Base(object):
    def __init_subclass__(cls, **options):
        cls.options = options


class Made(metaclass=abc.ABCMeta):
    pass


class Both(Base, Made, flag=True, name='both'):
    pass


def dynamic(bases, options, base):
    class Starred(*bases, **options):
        pass

    class Mixed(base, *bases, metaclass=abc.ABCMeta, **options):
        pass

    return Starred, Mixed
