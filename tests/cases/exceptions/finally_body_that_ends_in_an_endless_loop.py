# reads otherwise: 3.14+
def last(a, b, c, d, e):
    try:
        a()
    finally:
        while True:
            b()
            if c:
                d()
                break
            e()


def followed(a, b, c, d, e):
    try:
        a()
    finally:
        while True:
            b()
            if c:
                d()
                break
            e()
    e()


def in_loop(a, b, c, d, e):
    for x in a:
        try:
            a(x)
        finally:
            while True:
                b()
                if c:
                    d()
                    break
        e()


def returning(a, b, c, d, e):
    try:
        if a:
            return a()
    finally:
        while True:
            b()
            if c:
                d()
                break
            e()
    return 5


def left_by_clause(a, b, c, d, e):
    try:
        a()
    finally:
        while True:
            try:
                b()
            except E:
                break


def in_branch(a, b, c, d, e):
    try:
        a()
    finally:
        if e:
            while True:
                if b():
                    d()
                    break
                c()
        else:
            c(1)


def behind_with(a, b, c, d, e):
    try:
        a()
    finally:
        while True:
            with b:
                c()
            if d:
                e()
                break
