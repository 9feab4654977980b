def plain(items):
    for item in items:
        try:
            found = get(item)
        except TypeError:
            for other in items:
                if other:
                    break
        use(found)


def within_if(items):
    for item in items:
        try:
            found = get(item)
        except TypeError:
            found = None
            if item:
                for other in items:
                    if other == item:
                        found = other
                        break
        if found is not None:
            use(found)
        else:
            drop(item)
