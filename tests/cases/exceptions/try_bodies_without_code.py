# Up to 3.10 the handlers of a body that does nothing stay.
# reads otherwise: 3.11+


def clauses(x):
    try:
        pass
    except ValueError:
        x()
    else:
        y()


def named(x):
    try:
        pass
    except ValueError as error:
        x(error)
    y()


def cleaned(x):
    try:
        pass
    finally:
        x()


def all_three(x):
    try:
        pass
    except ValueError:
        x()
    else:
        y()
    finally:
        z()


def nested():
    try:
        try:
            pass
        except Exception:
            pass
    except Exception:
        pass
    done()


def in_a_loop(x):
    for n in x:
        try:
            pass
        except ValueError:
            y(n)
        z(n)


def within(x):
    if x:
        try:
            pass
        finally:
            y()
    z()
