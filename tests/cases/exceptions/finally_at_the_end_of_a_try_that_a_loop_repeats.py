# reads otherwise: 3.10
def differences(expected, actual):
    while True:
        try:
            e = expected[i]
            if e < a:
                i += 1
            else:
                try:
                    f()
                finally:
                    j += 1
                    while actual[j] == a:
                        j += 1
        except IndexError:
            extend(actual[j:])
            break
    return missing


def short(e, a):
    while True:
        try:
            if e < a:
                i += 1
            else:
                try:
                    f()
                finally:
                    j += 1
        except IndexError:
            break
    return i
