def rows(found):
    for row in found:
        if not row:
            continue
        if row.a:
            row.b()
            continue
        try:
            row.c()
        except ValueError:
            continue
        row.d()
        if row.e:
            row.f()
        row.g()


def endless(stack):
    while True:
        x = stack.pop()
        if x.a:
            x.b()
            continue
        if x.c:
            x.d()
        elif x.e:
            x.f()
        else:
            x.g()
        x.h()
