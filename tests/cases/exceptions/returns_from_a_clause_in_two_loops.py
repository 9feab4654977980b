def of_a_local(rows, given, end):
    for row in rows:
        while True:
            try:
                given()
            except KeyError:
                return row
            finally:
                end()


def of_a_call(rows, given, end):
    for row in rows:
        while given:
            try:
                given()
            except KeyError:
                return row()
            finally:
                end()
