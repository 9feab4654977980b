def mark(text, value):
    if value is None:
        text.value = ""
    elif isinstance(value, bool):
        text.value = str(value)
    elif isinstance(value, bytes):
        text.value = value.decode()
    elif isinstance(value, int):
        text.value = str(value)
    else:
        return False
    return True


def cut(flag, rows):
    if flag:
        rows = rows.cut()
    else:
        rows = rows.cut()
    return rows
