# reads otherwise: 3.8 3.10
def that_a_with_returns_from(items):
    try:
        try:
            items.sort()
        finally:
            with items:
                return 0
    except TypeError:
        pass
