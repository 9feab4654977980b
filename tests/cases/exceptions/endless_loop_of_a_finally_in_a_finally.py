def behind_loop(x):
    while x:
        try:
            a()
        except A:
            break
    try:
        while True:
            try:
                b()
            finally:
                c()
    finally:
        d()


def at_start():
    try:
        while True:
            try:
                b()
            finally:
                c()
    finally:
        d()
