"""An endless loop whose body starts with a loop: both begin where the inner one tests."""
# reads otherwise: 3.8 3.9 3.14+


def attempts(waits, attempt, sleep, work):
    while True:
        while waits():
            try:
                attempt()
                break
            except ValueError:
                pass
            sleep()
        work()


def plain(waits, work):
    while True:
        while waits:
            work(1)
        work(2)


def in_a_with(waits, work, lock):
    with lock:
        while True:
            while waits() and work:
                if lock.x:
                    break
                work(1)
            else:
                work(2)
            if work(3):
                return lock


def in_another(items, waits, work):
    for item in items:
        while True:
            while waits:
                with item:
                    work(item)
            work(2)
            if not item:
                break
        work(3)


def left_through_a_finally(items, test, close, work):
    for item in items:
        while True:
            try:
                item()
            except ValueError:
                if test:
                    return item
                break
            finally:
                close()
        work()


while waits():
    for item in items:
        while item:
            try:
                work(item)
                break
            except ValueError:
                sleep()
        else:
            break
