# reads otherwise: 3.9+
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
