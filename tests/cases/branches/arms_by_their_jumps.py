# reads otherwise: 3.10
"""Which arm ends in a jump, and which one has an `else`: up to 3.9 by code that never runs."""


def negated_identity(item):
    if not (type(item) is str and item.startswith("-")):
        item.go()
    item.x()


def left_by_break(self, at):
    i = at
    while True:
        if not self.load(at, i):
            break
        else:
            i = i + at


def left_for_a_result(p, n):
    ok = 0
    while True:
        if p == n:
            break
        c = p[n]
        p += c
    return ok


def left_once(self, data):
    while True:
        try:
            line = self.nextline()
        except ValueError:
            break
        if "e" in line:
            if self.fallback:
                data += line
            break
        self.go(line)
    return data


def returns_in_both(a, b):
    if a:
        if b:
            return 1
        else:
            return 2
    elif b:
        a.x()
    a.y()


def continued_after_an_if(items, found):
    for item in items:
        if item:
            if found:
                found.go()
            continue
        found.x(item)


def nothing_else(a):
    if a:
        a.c()
    else:
        pass
    a.d()


def raised_before(domain):
    if len(domain) > 1:
        raise RuntimeError("x")
    elif len(domain) == 1:
        domain = domain[0]
    else:
        domain = 1
    return domain


def returned_in_the_other(element, found):
    if found is not None and element:
        for x in element:
            found(x)
        found.append(element)
    else:
        return element


def none_at_the_end(rows):
    for row in rows:
        try:
            found = row()
        except ValueError:
            continue
        if found:
            return found
    return None


def raised_in_a_chain(parts, a, b):
    for part in parts:
        if part == 1:
            a(part)
        elif part == 2:
            raise ValueError(part)
        else:
            b(part)
            a(b)
    return a
