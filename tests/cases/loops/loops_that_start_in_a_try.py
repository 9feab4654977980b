def inner_loop_first(gs, n, i):
    while True:
        try:
            while i < n:
                gs(i)
                i += 1
        except ValueError:
            pass
        i -= 1


def break_behind_a_clause(g):
    res = []
    while True:
        try:
            res.append(g.__next__())
        except StopIteration:
            res.append('STOP')
            break
        except Exception as e:
            res.append(e)
    return res
