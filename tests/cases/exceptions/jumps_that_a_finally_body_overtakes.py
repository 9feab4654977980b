# reads otherwise: 3.9+
def leaves_the_first_time():
    count = 0
    while count < 2:
        count += 1
        try:
            pass
        finally:
            break
    return count


def asks_for_another_round_in_vain():
    count = 0
    while count < 2:
        count += 1
        try:
            continue
        finally:
            break
    return count


def leaves_in_vain():
    for count in 0, 1:
        try:
            break
        finally:
            continue
    return count


def raises_in_vain(items):
    for item in items:
        try:
            item.check()
        finally:
            break
    while items:
        try:
            items.pop() / 0
        finally:
            continue
    return items


def returns_in_vain():
    try:
        return 2
    finally:
        return 3


def returns_nothing_in_vain():
    try:
        return None
    finally:
        return 3


def tests_around(a, b):
    if a:
        while b > 1:
            b.step()
            try:
                a.work()
            finally:
                break
        a.end()
    return b
