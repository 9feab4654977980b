def read(keys, get, log):
    for key in keys:
        try:
            value = get(key)
        except KeyError as error:
            log(error)
            continue
        if value:
            log(value)
        else:
            log(key)


def read_all(keys, get, log):
    for key in keys:
        try:
            value = get(key)
        except KeyError as error:
            log(error)
        else:
            log(value)


def read_one(key, get, log):
    try:
        value = get(key)
    except KeyError as error:
        log(error)
        return 0
    log(value)
    return value
