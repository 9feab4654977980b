"""`except*` splits groups; its clauses all run."""
# since: 3.11


def clauses(f, g):
    try:
        f()
    except* ValueError:
        g(1)
    except* (TypeError, KeyError) as group:
        g(group.exceptions)


def with_else_and_finally(f, g):
    try:
        f()
    except* OSError as group:
        g(group)
    else:
        g(None)
    finally:
        g(0)


def raises(f):
    try:
        f()
    except* ValueError as group:
        raise TypeError from group
    except* OSError:
        raise
