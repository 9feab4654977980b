# reads otherwise: 3.14+
# since: 3.12
type Empty[T: '' or int] = T
type Full[T: 'text' and int] = T
