"""A `pass` or `...` before another statement leaves a NOP, which has columns from 3.11 on."""
# reads otherwise: 3.8 3.9 3.10


def at_the_start(count):
    pass
    total = count
    return total


def after_a_docstring(count):
    """Count."""
    ...
    return count + 1


def in_a_loop(count):
    while count < 4:
        pass
        count += 1
    for each in range(count):
        print(each)
        ...
        pass
        print(count)
    return None


def in_a_with(lock, count):
    with lock:
        pass
        count.append(lock)
    while True:
        if count.pop():
            pass
        count.append(lock)


def at_the_end_of_a_loop(names):
    for name in names:
        print(name)
        pass
        pass
