"""3.15 says of an import where no `lazy` may stand that it is eager: in a `try` and its handlers, in functions and classes.

A finally body is compiled once for each way into it, and only the exceptional one says so.
"""

import a

try:
    import b
except ImportError:
    import c
else:
    import d
finally:
    import e

try:
    with f:
        from g import h
    for i in h:
        import j
finally:
    pass

with k:
    import l

from m import *


class N:
    import o

    def p(self):
        import q

        return q


def r():
    try:
        import s
    finally:
        from t import u
    return u
