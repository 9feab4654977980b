# since: 3.12
type Named[T] = [lambda: T for T in T.__name__]
type Bound[T: [lambda: T for T in (T, [1])[1]]] = int
