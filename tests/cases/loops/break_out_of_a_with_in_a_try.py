def to_a_try(a, b):
    while True:
        try:
            with a as item:
                break
        except StopIteration:
            pass
    try:
        return b
    except ValueError:
        pass
    a(item)


def to_a_with(a, b):
    while True:
        try:
            with a as item:
                break
        except StopIteration:
            pass
    with b as value:
        return value
    a(item)
