# since: 3.10
def f():
    try:
        a
    finally:
        match self.state:
            case Error([*_, _] | [_, 1], 1):
                a
        try:
            a
        except (OSError, ValueError):
            a
