# since: 3.11
def overtaken(a):
    try:
        a()
    except* a:
        try:
            while True:
                try:
                    a()
                except StopIteration:
                    break
        finally:
            raise a from a
