# since: 3.12
# reads otherwise: 3.13+
# relowering falls short: 3.12
# What 3.12 makes of such a name depends on the order of the comprehensions and on the release.
type Lent = [None for row in ()] if False else {cell for name in table for cell in row}


def bounded[T: [None for row in ()] if False else {cell for cell in table for cell in row}](x):
    pass
