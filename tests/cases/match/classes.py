"""Class patterns with positional and named parts."""
# since: 3.10
import ast


def shapes(x):
    match x:
        case int():
            return 'int'
        case str(text):
            return text
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.BinOp(ast.Constant(a), op, ast.Constant(value=b)):
            return a, op, b
        case ast.Call(func=ast.Name('print'), args=[first, *_]):
            return first
