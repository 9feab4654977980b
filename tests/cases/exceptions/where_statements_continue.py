# reads otherwise: 3.9+
def clauses_that_all_leave(self, path):
    try:
        f = open(path)
    except TypeError:
        return None
    except OSError as e:
        if e.errno == 1:
            return None
        raise
    else:
        return f


def returns_in_one_arm(self):
    if self:
        try:
            return self.fileno()
        except ValueError:
            return -1
    else:
        return -1


def continues_out_of_with(key):
    for name in key:
        try:
            with open(name) as f:
                if name:
                    continue
                f.read()
                if f:
                    continue
                f.close()
        except OSError:
            pass


def breaks_out_of_a_clause(a):
    while True:
        try:
            a.send(None)
        except StopIteration as e:
            b = e.args
            break
    return a, b


def returns_nothing_from_with(a):
    with a as f:
        for x in f:
            if x:
                return x.y
        return None


def breaks_to_the_end(a, names):
    try:
        a()
    except OSError as e:
        for name in names:
            if name == e.errno:
                break
        else:
            raise
