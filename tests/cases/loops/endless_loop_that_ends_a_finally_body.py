def wait(old, deadline):
    try:
        yield
    finally:
        while True:
            now_old = count()
            if now_old <= old:
                break
            if now() > deadline:
                raise AssertionError("late")
            sleep()
            collect()
