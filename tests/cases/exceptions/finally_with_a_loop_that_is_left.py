"""A `break` in a `finally` body leads where the test of its loop does."""
# reads otherwise: 3.10 3.11 3.12 3.13 3.14
# open: 3.8 3.9


def woken(waiters, wake):
    try:
        waiters.wait()
    finally:
        while waiters.count > 0:
            if not wake(waiters):
                break
    return True
