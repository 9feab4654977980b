# python: 3.10 3.11 3.12 3.13
match subject:
    case [] | _ if 1:
        y
    case 0:
        pass
match subject:
    case [] | _ if 0:
        y
    case 0:
        z
