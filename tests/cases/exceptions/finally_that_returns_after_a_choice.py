def name(self):
    text = '...'
    try:
        if self.expr is not None:
            text = str(self.expr)[:1000]
        else:
            text = 'None'
    finally:
        return self.__class__.__name__ + ': ' + text


def in_a_loop(items):
    for item in items:
        try:
            if item:
                a()
            else:
                b()
        finally:
            return item
