"""The statements of a `case` start two steps further right than the `match`."""
# since: 3.10
# reads otherwise: 3.10


def in_a_loop(xs, d):
    for x in xs:
        if x.a:
            match x.b:
                case d.one:
                    if x.c == 'd' and '.0' in x.e:
                        continue
                    d[x.c] = 1
                case d.two:
                    d(x)
    return d
