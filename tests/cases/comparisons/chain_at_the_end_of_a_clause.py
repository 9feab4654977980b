def with_a_statement_behind():
    try:
        a
    except OSError:
        if data <= path < a:
            x
    b


def with_a_test_behind():
    try:
        a
    except OSError:
        if data <= path < a:
            pass
    assert line, node


def in_a_loop():
    for a in b:
        try:
            a
        except OSError:
            if data <= path < a:
                print(a)
