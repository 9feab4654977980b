# since: 3.12
match x:
    case n if {0: 0 for u in v}:
        a
    case 0:
        b
    case 0:
        c
match x:
    case _ if [0 for u in v if w]:
        a
    case 0:
        b
