"""A function whose docstring is gone has nothing to do."""  # dropped by -O
# optimize: 2


def nothing():
    """Only this."""  # dropped by -O
    pass


class Nothing:
    """Only this."""  # dropped by -O
    pass
