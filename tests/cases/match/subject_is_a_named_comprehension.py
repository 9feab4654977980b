# since: 3.10
match names := {n if n else m: n ^ n for n in x}:
    case 17 | B(b'b'):
        print(names)
