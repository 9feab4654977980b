# since: 3.12
# reads otherwise: 3.12
# Where the drop is on the line of the comprehension, it comes in front of what is put back.
[a for b in c] if True else None
d
