# reads otherwise: 3.9+
def goes_on(make, x):
    for count in 0, 1:
        try:
            return make()
        finally:
            if x:
                continue
    return 'end', count


def leaves(x):
    for count in 0, 1:
        count2 = 0
        while count2 < 20:
            count2 += 10
            try:
                return count + count2
            finally:
                if x:
                    break
    return 'end', count, count2


def goes_on_in_a_while(x):
    count = 0
    while count < 100:
        count += 1
        try:
            return count
        finally:
            if x:
                continue
    return 'end', count
