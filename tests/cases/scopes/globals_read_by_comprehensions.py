"""What a comprehension reads as a global is declared around it, in modules and classes too."""
global declared
[declared for x in items]
{x: declared for x in declared if declared}
[[declared for y in x] for x in items]
[[bound for x in bound] for y in items if (bound := declared)]


class Holder:
    global first
    [first for x in items]
    first
    [second for x in items]
    [third for () in items]
    third = 3
