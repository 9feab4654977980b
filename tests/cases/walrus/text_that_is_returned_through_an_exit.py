def managed(lock):
    with lock:
        return (name := 'text')


def looped(items):
    for item in items:
        return (name := 'text')


def protected(check):
    try:
        return (name := 'text')
    finally:
        check()
