def retry(stop):
    while True:
        try:
            write()
            break
        except OSError:
            stop += 1
        finally:
            count = None
        again()
    with reader() as z:
        z.close()
