# The compiler of 3.12 drops what stands in an annotation on the line of it.
# reads otherwise: 3.8 3.9 3.10 3.11 3.13+
def in_functions(a, b):
    [c for c in a]._: None
    [c for c in a]
    {d + c for d in a for c in b}._: None


class Held:
    [c for c in range(3)]._: None


print(1)
{c: d for c in range(2) for d in range(3)}._: None
