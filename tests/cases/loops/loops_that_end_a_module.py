"""No return can be written where the compiler put one: what follows such a loop is its else."""
for x in a:
    break
else:
    y
for x in a:
    if x:
        break
    for z in x:
        q
    break
else:
    y
    for x in a:
        for i in x:
            h
            break
        else:
            continue
        break
    else:
        y


class Holder:
    for i in x:
        y
        break
    else:
        z
