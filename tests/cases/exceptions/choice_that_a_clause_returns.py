def of_a_name(path, tail):
    try:
        work()
    except OSError as error:
        return join(path, tail) if tail else path
    done(path)


def of_two_tries(path, tail):
    while path:
        try:
            work()
        except OSError as error:
            try:
                new = read(path)
                if new != path:
                    return join(new, tail) if tail else new
            except OSError:
                pass
            go_on(error)
    return tail
