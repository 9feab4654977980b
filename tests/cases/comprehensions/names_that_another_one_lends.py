"""What 3.12 would find in another comprehension is read from outside if the scope mentions it."""
# reads otherwise: 3.8 3.9 3.10 3.11 3.13 3.14 3.15

if False:
    name
[0 for name in 0 if (name for a in b)]
{name for a in b}


def bound(y):
    if False:
        x
    [x for x in y]
    return [x for z in y]


def captured(y):
    if False:
        x
    [lambda: x for x in y]
    return {x for z in y}
