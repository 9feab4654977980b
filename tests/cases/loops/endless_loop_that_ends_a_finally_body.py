def wait(old, deadline):
    try:
        yield
    finally:
        while True:
            if count() <= old:
                break
            if now() > deadline:
                raise AssertionError("late")
            sleep()
            collect()
