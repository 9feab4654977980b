# SPDX-License-Identifier: Apache-2.0
"""Failed guards in words."""

from __future__ import annotations

from pellucid.torch.model.events import GuardFailure


def difference(failure: GuardFailure, actual: str = "") -> str:
    """Say what a call had other than the compiled version expects.

    >>> difference(GuardFailure(None, "size", "x.size(0)", "2", "5", "", None))
    'x.size(0), 5 instead of 2'
    """
    came = actual or failure.actual
    if failure.kind == "key":
        return f"the keys of {failure.source.partition('[')[0]} ({failure.source})"
    if failure.kind == "type":
        return f"the type of {failure.source}" + (
            f", another than {failure.expected}" if failure.expected else ""
        )
    if failure.kind == "identity":
        return f"which object {failure.source} is"
    if failure.kind == "length":
        return f"len({failure.source}), no longer {failure.expected}"
    if failure.kind == "rank":
        return f"the number of dimensions of {failure.source}, {came} instead of {failure.expected}"
    if failure.kind == "none":
        return f"{failure.source}, no longer None"
    if failure.kind == "global state":
        return (
            f"the state of torch ({failure.expected or 'grad mode, autocast, default device, …'})"
        )
    if failure.kind == "marked":
        return "a tensor that is marked dynamic, which it was not before"
    if failure.kind == "alias":
        return f"which arguments are the same tensor ({failure.source})"
    if failure.kind == "backend":
        return "another backend, or the same one made anew"
    if failure.kind == "gone":
        return "an object that is gone"
    if failure.kind == "iterator":
        return f"how far the loop's iterator has come ({failure.expected})"
    if failure.source and failure.expected:
        end = f"{came} instead of {failure.expected}" if came else f"no longer {failure.expected}"
        return f"{failure.source}, {end}"
    return failure.text or "a failed guard"
