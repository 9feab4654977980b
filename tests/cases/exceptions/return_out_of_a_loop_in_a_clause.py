# reads otherwise: 3.10+
def in_a_named_clause(xs):
    try:
        a()
    except E as err:
        for x in xs:
            return 0
    finally:
        b()


def in_a_bare_clause(xs):
    try:
        a()
    except:
        for x in xs:
            return
    try:
        b()
    except:
        return
    finally:
        c()


def in_the_body(xs):
    try:
        for x in xs:
            if x:
                return
            try:
                a()
            except:
                pass
    except:
        pass
    else:
        b()
    c()
