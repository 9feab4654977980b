# since: 3.12
match [a for b in c]:
    case 0:
        d
    case []:
        e
