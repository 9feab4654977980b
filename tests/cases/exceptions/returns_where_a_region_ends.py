# reads otherwise: 3.9+
def leaves_a_with_in_a_loop(manager, items):
    with manager:
        for item in items:
            return


def leaves_two(manager, items):
    with manager:
        while items:
            with items.pop():
                return


def leaves_a_clause(items):
    try:
        items.sort()
    except TypeError as error:
        while items:
            if items.pop(error):
                items.clear()
            else:
                return


def leaves_an_else(items, key):
    try:
        while items:
            items.pop()
    except IndexError:
        pass
    else:
        return None
    finally:
        if not key:
            return 0


def returns_behind_clauses(items):
    try:
        try:
            items.sort()
        except TypeError as error:
            items.clear()
        except ValueError:
            items.pop()
        return 0
    finally:
        items.close()


def leaves_by_a_clause(items):
    try:
        try:
            items.sort()
        except TypeError as error:
            return 0
        else:
            raise ValueError
    except ValueError:
        return None
    finally:
        with items:
            items.clear()
        for item in items:
            item.close()


def stands_behind(items):
    try:
        items.sort()
    except TypeError:
        return 0
    finally:
        with items:
            with items[0]:
                pass


def breaks_or_returns(items):
    for item in items:
        for part in item:
            try:
                part.work()
                break
            except TypeError as error:
                return 0
            except:
                raise ValueError


def ends_before_the_clause(items):
    while items:
        try:
            items.pop()
        except IndexError as error:
            break
    return items
