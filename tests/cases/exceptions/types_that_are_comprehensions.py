"""A type that is compared with may take more than one block to evaluate."""
try:
    a
except [0 for b in c]:
    d
e
try:
    a
except b or c:
    d
except b if c else d:
    d
except {b: x for b in c}[[i for i in j][0]] as e:
    d
except:
    e
else:
    q
finally:
    p


def inside():
    try:
        return a
    except [0 for b in c]:
        d
    finally:
        try:
            a
        except [x for x in y if x]:
            z
