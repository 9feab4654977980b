# python: 3.12 3.13
class A[**P]('t' or (P for row in rows)):
    pass
class B[T](metaclass=0 and (lambda: T)):
    pass
type C[T: '' and T] = 0
type D[T: 'text' or T] = 0
