# since: 3.10
match a:
    case []:
        pass
    case {} | _:
        pass
