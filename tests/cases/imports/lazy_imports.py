"""Lazy imports (PEP 810), wherever they may stand: in a module, outside of every `try`."""
# since: 3.15

lazy import a
lazy import a.b.c
lazy import a.b as ab, c as d
lazy from e import f
lazy from e.g import h as i, j
lazy from . import k
lazy from ..l import m as n
import o
from p import q

if a:
    lazy import r
    import s
else:
    lazy from r import s
for _ in f:
    lazy import t
while m:
    lazy import u
with n:
    lazy from v import w
match q:
    case [_]:
        lazy import x
