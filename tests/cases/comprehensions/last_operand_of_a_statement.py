def at_the_end(a, b):
    a or {c for c in b}
    a and b and [c for c in b]
    [c for c in a] if a else {d for d in b}
    return b


def where_the_function_ends(a, b, e):
    a or {c.d for c in b} or (e if {f: a for f in b} else ()) or {g for g in e}


def each_arm_returns(a, b, e):
    [c for c in b] if a else {d for d in e}


def as_statements_of_their_own(a, b, e):
    if a:
        [c for c in b]
    else:
        {d for d in e}
    print(a)
    print(b)
    return e
# relowering falls short: 3.13+
# Compilers drop a list before they restore a variable where they copy the end of a body.
