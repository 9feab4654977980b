def behind_a_clause():
    try:
        a()
    except:
        pass
    finally:
        while True:
            pass


def behind_a_body():
    try:
        a()
    finally:
        while True:
            pass
