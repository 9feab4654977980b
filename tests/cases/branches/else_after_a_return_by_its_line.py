def either(a):
    if a.ready:
        return a.first()
    else:
        return a.second()


def neither(a):
    if a.ready:
        return a.first()
    return a.second()


def kinds(a):
    if a == 1:
        return 'one'
    elif a == 2:
        return 'two'
    elif a == 3:
        b = str(a)
        return b
    else:
        return 'many'


def checks(a):
    if not a:
        raise ValueError(a)
    if a < 0:
        raise TypeError(a)
    a.run()


def fails(a, key):
    try:
        value = a[key]
    except KeyError:
        return None
    else:
        return value.name


def goes_on(a, key):
    try:
        value = a[key]
    except KeyError:
        return None
    a.names.append(value.name)
    return value


def to_the_end(a):
    if a.quiet:
        a.close()
    else:
        try:
            a.close()
        except OSError:
            a.failed = True
