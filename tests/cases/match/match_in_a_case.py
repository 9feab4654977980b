"""A `match` at the start of the only case of another one, with cases of its own."""
# reads otherwise: 3.10 3.11 3.12 3.13 3.14
# since: 3.10


def first(statement, ast, f):
    match statement:
        case ast.Expr(expr):
            match expr:
                case ast.BinOp():
                    a = f()
                    return a
                case ast.Subscript():
                    return 2
                case ast.Call():
                    return 3
    return None


def behind_a_statement(x, f):
    match x:
        case [y]:
            f(y)
            match y:
                case {'a': a}:
                    return a
                case int():
                    return 2


def three_deep(x, f):
    match x:
        case [y]:
            match y:
                case [z]:
                    match z:
                        case [1]:
                            f(1)
                        case [2]:
                            f(2)
    f(x)
