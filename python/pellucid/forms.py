# SPDX-License-Identifier: Apache-2.0
"""The forms that a body can be written in, and the search for one that is proven."""

from typing import TYPE_CHECKING, Callable, Dict, Tuple, cast

from pellucid.verdicts import CodeVerdict, Tier, Verdict

if TYPE_CHECKING:
    from pellucid.result import Decompilation

# The form of a body: readable, the same with its locals in order, plain, or as a loop over a state.
_USUAL, _PLAIN, _LAST_FORM = 0, 2, 3
# The start of the reason if the locals are known to be in a different order (verify/compare.h).
_OTHER_ORDER = "the order of variables"

BEST = ("best", "strict")
"""Tiers that mean the best available one; "strict" also covers the handlers of interruptions."""


def proven_form(
    written: "Callable[[Dict[str, int]], Decompilation]", tier: str
) -> "Tuple[Decompilation, Verdict]":
    """Return a decompilation in the first form of bodies that is proven, if there is one.

    Unproven bodies get their locals in order if they were not, then the plain form, then a loop
    over a state. A body that no form proves keeps the readable form, and so do all bodies if the
    forms do not reduce the number of unproven ones.
    """

    def attempt(forms: "Dict[str, int]") -> "Tuple[Decompilation, Verdict]":
        found = written(dict(forms))
        return found, verdict_of(found, tier)

    first = last = attempt({})
    forms: Dict[str, int] = {}
    while True:
        unproven = [code for code in last[1].codes if code.status == "unproven"]
        left = {code.code for code in unproven}
        following = [code for code in unproven if forms.get(code.code, _USUAL) < _LAST_FORM]
        if not following:
            break
        before = dict(forms)
        for code in following:
            forms[code.code] = _next_form(before.get(code.code, _USUAL), code)
        last = attempt(forms)
    if left & set(forms):
        last = attempt({path: form for path, form in forms.items() if path not in left})
    return last if _unproven(last[1]) < _unproven(first[1]) else first


def verdict_of(found: "Decompilation", tier: str) -> Verdict:
    """Return the verdict of a tier."""
    return found.verdict if tier in BEST else found.verify(cast("Tier", tier))


def _next_form(form: int, code: CodeVerdict) -> int:
    if form == _USUAL and not code.reason.startswith(_OTHER_ORDER):
        return _PLAIN
    return form + 1


def _unproven(verdict: Verdict) -> float:
    if verdict.status == "unproven" and not verdict.codes:
        return float("inf")  # it could not be compared at all
    return sum(code.status == "unproven" for code in verdict.codes)
