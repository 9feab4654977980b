# since: 3.10
# The body after such a guard is gone; `p | _ as name` has one more copy of the subject.
def guarded(x, c):
    match x:
        case True if False:
            pass
        case x:
            if c:
                x()


def sequence(k):
    match k:
        case [] if False:
            pass
        case x:
            x()


def alternatives(k):
    match k:
        case 1 | None:
            return 2
        case True | _ as x:
            x()


def more(k):
    match k:
        case 1:
            return 2
        case [] | _ as x if x.y:
            x()
        case 3:
            return 4


def loop(k):
    for k in k:
        match k:
            case 1 if False:
                pass
            case 2 | (3 | _) as k:
                k()
