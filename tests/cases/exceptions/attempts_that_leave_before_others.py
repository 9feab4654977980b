"""A `try` that leaves, in an `if` before another `try`, within a `with` that is closed after both."""


def in_a_with(known, load, log, lock):
    with lock:
        if not known:
            try:
                return load()
            except KeyError:
                pass
            log()
        try:
            log(1)
        except ValueError:
            log(2)


def in_a_loop(items, load, log, lock):
    for item in items:
        with lock:
            if not item:
                try:
                    load()
                    continue
                except KeyError:
                    pass
                log(item)
            try:
                log(1)
            except ValueError:
                log(2)
            log(3)


def with_a_finally(known, load, log, lock):
    try:
        if not known:
            try:
                raise load()
            except KeyError:
                pass
            log()
        try:
            log(1)
        except ValueError:
            log(2)
    finally:
        lock()


def around_loops(items, load, log, lock):
    with lock:
        while items:
            try:
                if items.pop():
                    load()
            except KeyError:
                log()
        while True:
            try:
                load()
                if not log():
                    log(1)
            except ValueError:
                break
