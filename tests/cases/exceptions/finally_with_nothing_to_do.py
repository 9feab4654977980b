def f():
    try:
        yield 1
    finally:
        pass
    try:
        yield 2
    except ValueError:
        yield 3
    finally:
        pass
