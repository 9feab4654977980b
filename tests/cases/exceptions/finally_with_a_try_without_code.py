# reads otherwise: 3.11+
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
