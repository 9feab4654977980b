"""-OO leaves no docstrings."""  # dropped by -O
# optimize: 2


def documented(x):
    """It had one."""  # dropped by -O
    return x


class Documented:
    """It had one."""  # dropped by -O
    x = 1

    def method(self):
        """It had one."""  # dropped by -O
        assert self  # dropped by -O
        return 'not a docstring'


def text(x):
    x = 'text'
    return x
