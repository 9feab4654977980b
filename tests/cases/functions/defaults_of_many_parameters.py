def thirty(
    a1=None,
    a2=None,
    a3=None,
    a4=None,
    a5=None,
    a6=None,
    a7=None,
    a8=None,
    b1=None,
    b2=None,
    b3=None,
    b4=None,
    b5=None,
    b6=None,
    b7=None,
    b8=None,
    c1=None,
    c2=None,
    c3=None,
    c4=None,
    c5=None,
    c6=None,
    c7=None,
    c8=None,
    d1=None,
    d2=None,
    d3=None,
    d4=None,
    d5=None,
    d6=None,
):
    return a1


def more(
    a1=None,
    a2=None,
    a3=None,
    a4=None,
    a5=None,
    a6=None,
    a7=None,
    a8=None,
    b1=None,
    b2=None,
    b3=None,
    b4=None,
    b5=None,
    b6=None,
    b7=None,
    b8=None,
    c1=None,
    c2=None,
    c3=None,
    c4=None,
    c5=None,
    c6=None,
    c7=None,
    c8=None,
    d1=None,
    d2=None,
    d3=None,
    d4=None,
    d5=None,
    d6=None,
    d7=None,
    d8=None,
):
    return a1


def others(a, b=1, *, c=2):
    return (
        lambda a1=0, a2=1, a3=2, a4=3, a5=4, a6=5, a7=6, a8=7, b1=8, b2=9, b3=10, b4=11, b5=12, b6=13, b7=14, b8=15, c1=16, c2=17, c3=18, c4=19, c5=20, c6=21, c7=22, c8=23, d1=24, d2=25, d3=26, d4=27, d5=28, d6=29, d7=30, d8=31: (
            a1
        )
    )
