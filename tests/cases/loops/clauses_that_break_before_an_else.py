# reads otherwise: 3.8+
# Code after a loop is laid out before handlers that only lead back to the loop (3.12+).
def behind_the_loop(a):
    for b in a:
        c = None
        while True:
            try:
                d = a.next()
            except KeyError:
                if c:
                    a.skip()
                else:
                    c = 1
                    break
            else:
                break
        if c is None:
            break
        a.close()
    if c is None:
        a.end()


def behind_the_loop_with_a_name(a):
    for b in a:
        c = None
        while True:
            try:
                d = a.next()
            except KeyError as e:
                if e.args:
                    a.skip()
                else:
                    c = str(e)
                    break
            else:
                if d is not None:
                    a.push(d)
                break
        if c is None:
            a.found(b)
            break
        else:
            a.close()
    if c is None:
        a.end()
