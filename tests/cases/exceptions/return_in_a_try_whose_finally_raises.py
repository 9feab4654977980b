# reads otherwise: 3.9+
def behind_a_clause():
    try:
        return 0
    except:
        pass
    finally:
        raise a


def some_of_the_time(x):
    try:
        if x:
            return 0
    finally:
        return 1


def with_a_continue(xs):
    for x in xs:
        try:
            b()
        except E:
            continue
        finally:
            raise a
