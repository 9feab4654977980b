def in_a_clause_inside():
    try:
        try:
            f()
        except:
            return
        g()
    except:
        pass
    else:
        h()
    finally:
        while True:
            f(0)


def in_a_with_statement(x):
    try:
        with x:
            f()
            return
    except X:
        g()
    else:
        h()
    finally:
        while True:
            f(0)


def in_front_of_a_finally_body_that_raises(x):
    try:
        try:
            f()
        except X:
            return
        g()
    except Y:
        pass
    else:
        h()
    finally:
        raise Z
