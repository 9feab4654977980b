"""A constant guard leaves no test; that another case follows is left of it."""
# since: 3.10
# reads otherwise: 3.10 3.11 3.12 3.13 3.14


def takes_everything(x, use):
    match x:
        case True:
            pass
        case name if f'e':
            use(name)
        case []:
            pass
    use(0)
