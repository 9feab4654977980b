# since: 3.11
def behind_all(a, path):
    try:
        raise a
    except* OSError:
        raise a from path
    except* ValueError as e:
        raise e
    value = a
    return value
