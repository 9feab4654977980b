# reads otherwise: 3.9 3.10 3.11 3.12 3.13 3.14
def that_overtakes_a_break(items):
    for item in items:
        for part in item:
            try:
                part.work()
                break
            except TypeError:
                pass
            finally:
                raise ValueError
