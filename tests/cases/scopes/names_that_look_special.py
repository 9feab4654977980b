"""Names that only look like keywords or the compiler's own."""
match = 1
case = 2
type = 3
_ = 4
print = match
async_ = case
__name = type


def soft(match, case, type=None, *, _=1):
    match(case)
    type = match[case]
    match.case = _
    case = 1
    return match, case, type
