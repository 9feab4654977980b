def operand_of_an_arm(a, b, c, d):
    return (a if b else c or d) or a.x


def operands_of_an_arm(a, b, c, d):
    return (not a if b else c or d or a.x) or not d


def and_within_and(a, b, c, d):
    x = (a if b else c and d) and a.x
    return x


def or_within_and(a, b, c, d):
    x = (a if b else c or d) and a.x
    return x


def both_arms(a, b, c, d):
    f((a or b if c or d else b and d) or a.x)


def arm_of_an_arm(a, b, c, d):
    return ((a if b else c or d) or b.x if c else d or a.x) or d.x


def on_both_sides(a, b, c, d):
    return ((a and b if c else d and a) or b) and (c if d else a or b.x)


def in_a_comprehension(a, b, c):
    return [(a if d else b or c) or d.x for d in c]


def tested(a, b, c, d):
    while (a if b else c or d) and f((c if a else b and d) and a.x):
        f(a)
