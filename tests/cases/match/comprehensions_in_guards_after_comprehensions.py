"""The guard of a first case is a comprehension, and so is what is matched."""
# since: 3.10


def function(a, b, f):
    match {x: 0 for x in a}:
        case None if [y for y in b]:
            f(1)
        case 0:
            f(2)
    match [x for x in a if x]:
        case _ if {y for y in b}:
            f(3)
        case [z]:
            f(z)


match {x: 0 for x in a}:
    case None if [0 for y in b]:
        pass
    case 0:
        pass
    case None:
        pass
match named := [x for x in a]:
    case False if b.x([y for y in a for y in b], a < b not in c <= d):
        pass
    case name if [0 for y in b]:
        pass
    case None:
        pass
