# What comes first in the code is not what the compiler counts first.
class Table:
    cells = {key: value for row in rows}
