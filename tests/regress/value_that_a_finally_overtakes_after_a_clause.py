# python: 3.8
def returns_a_value():
    try:
        return a
    except:
        pass
    finally:
        return 0
