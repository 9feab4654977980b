# since: 3.12
type Alias[T] = {name: T for name in ('a', 'b')}
print(Alias.__value__, Alias.__type_params__)
def outer(kind):
    type Local[T: (int, kind)] = [(lambda: T)(), kind]
    def bound[T: kind if kind else int](x: T) -> T:
        return x
    return Local.__value__, Local.__type_params__[0].__constraints__, bound.__type_params__[0].__bound__
print(outer(str))
