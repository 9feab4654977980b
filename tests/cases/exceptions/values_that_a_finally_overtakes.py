def behind_a_loop(items):
    try:
        for item in items:
            item.work()
        return item
    except TypeError:
        pass
    finally:
        return 0


def in_a_loop(items):
    try:
        for item in items:
            try:
                return item.work()
            except TypeError:
                pass
    except ValueError:
        pass
    finally:
        return 1


def of_a_clause(items):
    try:
        items.sort()
    except TypeError:
        return items
    finally:
        return 1


def of_a_loop_in_a_clause(items):
    try:
        items.sort()
    except TypeError:
        for item in items:
            return items.pop()
    finally:
        return 0


def in_a_with(items):
    try:
        items.sort()
    except TypeError:
        with items:
            return items.pop()
    finally:
        return 0


def of_a_choice(items):
    try:
        items.sort()
    except TypeError:
        return items or 1
    finally:
        raise ValueError


def without_a_value(items):
    try:
        if items:
            return
    except TypeError:
        pass
    else:
        items.sort()
    finally:
        raise ValueError
