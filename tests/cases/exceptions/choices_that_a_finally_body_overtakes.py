def always(a, path):
    try:
        return a or path
    finally:
        return a


def sometimes(a, count, name):
    try:
        return 0 <= count < name
    finally:
        if a:
            return a
