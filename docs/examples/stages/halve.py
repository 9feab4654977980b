def halve(count):
    while count and count % 2 == 0:
        count //= 2
    return count or 1
