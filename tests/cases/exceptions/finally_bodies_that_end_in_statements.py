def that_a_break_leaves(items):
    try:
        items.sort()
    finally:
        while True:
            with items:
                break


def that_raises(items):
    try:
        items.sort()
    except TypeError as error:
        try:
            items.clear()
        finally:
            raise ValueError


def that_a_clause_ends(items):
    try:
        return items.pop()
    finally:
        try:
            raise ValueError
        except ValueError:
            pass


def that_a_clause_ends_for_others(items):
    try:
        items.sort()
    except TypeError:
        try:
            items.clear()
        except ValueError:
            pass
        finally:
            try:
                raise IndexError
            except IndexError:
                pass
    items.close()


def that_a_break_ends(items):
    try:
        items.sort()
    except TypeError:
        return items.pop()
    finally:
        for item in items:
            try:
                item.work()
                break
            except ValueError:
                pass
