"""A `finally` body that is a `try` with several ends, each of which a `return` has copied."""


def out_of_a_with(f, outfile, other):
    try:
        with f(outfile) as image:
            image.load()
            return image.copy()
    finally:
        try:
            f(outfile)
            if other:
                f(other)
        except OSError:
            pass


def plain(f, outfile, other):
    try:
        return f.copy()
    finally:
        try:
            f(outfile)
            if other:
                f(other)
        except OSError:
            pass
