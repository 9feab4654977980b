# Compilers copy the end of a body, with what a class keeps there, to each clause.
class A:
    try:
        a
    except b:
        pass
    except c:
        pass
    except:
        pass


class B:
    try:
        a
    except b:
        d
    except c:
        e
