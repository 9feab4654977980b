"""Which names a comprehension hides depends on what its dead code mentions."""
# since: 3.12
{name for x in 0 for y in {0 for name in x} if False}
{name: None for () in 0 for y in {0 for name in x} if False}
[0 if True else name for x in y for z in [name for name in x]]
[0 if True else [None for name in ()] for x in y]
{name if True else other: 1 for x in y for z in [name + other for name in x for other in z]}
[other if True else (other := None) for x in y if other or x]


def inside(y):
    return [0 if True else name for x in y for z in [name for name in x]]
