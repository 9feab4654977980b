# reads otherwise: 3.11 3.12 3.13 3.14
def returns_behind_it():
    try:
        pass
    except:
        pass
    finally:
        try:
            pass
        except:
            pass
        a()
        return 0
