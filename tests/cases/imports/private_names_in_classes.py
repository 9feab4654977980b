"""A class mangles the names of modules and members that are private; it keeps what was written."""


class C:
    from m import __y
    from m import __y as z
    from __m import q as __w
    import __x
    import __x.__y
    import __x.__y as k
    import __x as __k
    import __x__

    def method(self):
        from m import __y, __z as b
        import __x.y
        return __x, __y, b


class ___:
    from m import __y
    import __x


def outside():
    from m import __y
    import __x.__y
    return __x
