def call(work, log, flush):
    try:
        return work()
    except ValueError as error:
        log(error)
        return 2
    finally:
        flush()


def try_both(work, log, flush):
    try:
        return work() or 0
    except KeyError:
        return 1
    except ValueError as error:
        log(error)
        return 2
    finally:
        flush()
