"""A constant guard leaves no test; that another case follows is left of it."""
# since: 3.10
# reads otherwise: 3.10+


def takes_everything(x, use):
    match x:
        case True:
            pass
        case name if f'e':
            use(name)
        case []:
            pass
    use(0)
