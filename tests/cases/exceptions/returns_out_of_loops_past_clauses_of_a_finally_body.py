def computed(items, check):
    for item in items:
        try:
            return item()
        finally:
            try:
                check()
            except ValueError:
                pass


def perhaps(items, check):
    for item in items:
        try:
            if item:
                return check(item)
        finally:
            try:
                check()
            except ValueError:
                use(items)


def nested(rows, check):
    for row in rows:
        for item in row:
            try:
                return item()
            finally:
                try:
                    check()
                except ValueError as error:
                    use(error)
