def wait(old, deadline):
    try:
        yield
    finally:
        while count() > old:
            if now() > deadline:
                raise AssertionError("late")
            sleep()
            collect()
