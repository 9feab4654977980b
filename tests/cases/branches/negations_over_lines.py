# reads otherwise: 3.8 3.9 3.10
def check(p, q):
    if not (
        p.is_open(90)
        or p.is_open(100)
    ):
        return False
    if p and not (
        p.is_shut(90) or q.is_shut(100)
    ):
        q()
    if (p.is_wide(1) or
            q.is_wide(2)):
        return True
    if not (
        p.is_near(3)
        and q.get(p) != q.key
    ):
        p()
    if not (p.is_open(4) or (q and p.is_shut(4))):
        q()
    return 2
