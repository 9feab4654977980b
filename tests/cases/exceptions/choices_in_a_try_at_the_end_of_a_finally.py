def chained(given, a, b, c):
    try:
        given()
    finally:
        try:
            a = a == b != c
        except KeyError:
            pass


def behind_a_clause(given, a, b, c):
    try:
        given()
    except KeyError:
        given()
    finally:
        try:
            given(a == b != c)
        except KeyError:
            pass
