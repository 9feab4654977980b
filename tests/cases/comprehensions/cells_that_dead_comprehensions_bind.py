"""A cell that an inlined comprehension binds for itself as well comes before the other cells."""
# since: 3.12
(
    (lambda: name, [None for name in ()], lambda: other)
    for new_name in 0
    if False
    for name in ()
    for other in ()
)
