# reads otherwise: 3.9+
def with_a_statement():
    try:
        a()
    except E as err:
        return 0
    else:
        b()
    finally:
        c()


def with_a_return():
    try:
        a()
    except E as err:
        return 0
    else:
        return 1
    finally:
        c()


def with_a_statement_behind_it():
    try:
        try:
            a()
        except E as err:
            return 0
        else:
            b()
        c()
    except:
        pass
    finally:
        d()
