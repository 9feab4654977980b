"""Defaults belong to the scope around the function, whatever they compute."""


def make(step, table):
    def count(start=step + 1, *, names=[table.get(key) for key in table], seen={}):
        return start, names, seen
    return count


def constants(a=None, b=(1, 2), c='text', *, d=-1, e=...):
    return a, b, c, d, e
