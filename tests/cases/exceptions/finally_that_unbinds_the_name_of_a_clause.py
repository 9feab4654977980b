async def stored_again(a):
    try:
        ex = await a
        c(ex)
    except E as ex:
        del ex
        ex = await a
    finally:
        ex = 1
        del ex
    c(a)


def as_a_clause_does(a):
    try:
        b(a)
    except E as ex:
        c(ex)
    finally:
        ex = None
        del ex


def within_a_clause(a):
    try:
        ex = b(a)
    except E:
        try:
            c(a)
        except E as ex:
            ex = a
        finally:
            ex = None
            del ex
        b()


def in_a_loop(a):
    for x in a:
        try:
            b(x)
        except E as ex:
            c(ex)
        finally:
            ex = ""
            del ex
