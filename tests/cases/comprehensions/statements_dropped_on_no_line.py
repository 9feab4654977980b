# since: 3.12
# reads otherwise: 3.12
# Where the drop is on the line of the comprehension, it is before the names that are put back.
[a for b in c] if True else None
d
