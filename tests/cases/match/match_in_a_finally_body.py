# since: 3.10
# Its copies drop what is left of the class's attributes, each at its own end.
try:
    x
finally:
    match y:
        case u(a=0, b=None):
            pass
