def bounds(item):
    use(item[(first := ()):])
    use(item[:(last := 3)])
    use(item[(first := 2):(last := 3)])
    use(item[(first := 1)::(step := 'two')])
    return first, last, step


def cells(item):
    item[(first := 0):] = item[:(last := None)]
    return lambda: (first, last)
