# python: 3.12 3.13
class A[*B]:
    B
    while 0:
        for a in {B for b in c}:

            class B:
                pass


class C[**D]:
    while d:
        D
    else:
        D = 0
