# reads otherwise: 3.8 3.9 3.10 3.11
def reads_again(cache, key):
    while True:
        own = cache.claim(key)
        if not own:
            try:
                found = cache.read(key)
            except KeyError:
                continue
            return found.value
        compute(own)


def inserts_again(connection, number):
    while True:
        try:
            made = connection.execute(number)
        except ValueError as error:
            if unknown(error):
                number += 1
            continue
        return made.key, number


def ends_a_region_inside(cache, key):
    while True:
        future, own = cache.claim(key)
        if not own:
            try:
                found = cache.read(key)
            except KeyError:
                continue
            return found.value
        try:
            try:
                found = cache.read(key)
            except KeyError:
                pass
            else:
                return found.hit
            if future is None:
                raise RuntimeError(key)
            return cache.store(future)
        finally:
            cache.complete(key)
