def closes(a):
    try:
        a.close()
    except (AttributeError, TypeError):
        pass
    else:
        a.fail('closed')


def raises(a):
    try:
        raise ValueError(a)
    except ValueError as error:
        a.check(error)


def reports(a):
    try:
        a.close()
    except OSError:
        a.failed = True
    else:
        raise RuntimeError('closed')


def closes_all(a):
    for item in a:
        try:
            item.close()
        except OSError:
            pass
        else:
            a.fail('closed')
