# SPDX-License-Identifier: Apache-2.0
"""The meaning of a tensor's dispatch keys, judged from the keys that differ between two calls."""

from __future__ import annotations

import re
from typing import NamedTuple

_KEY = re.compile(r"\w+")


class Meaning(NamedTuple):
    """What a dispatch key means if a tensor has it, if it does not, and what to change."""

    with_it: str
    without: str
    remedy: str


# torch guards the keys of the tensor and of the mode together: a tensor that is used inside
# inference_mode and one that was created there and is used outside have the same keys.
_OF_INFERENCE = Meaning(
    "it is an ordinary tensor outside inference_mode",
    "it is used inside inference_mode or was created there",
    "use torch.no_grad() in place of inference_mode, or call `.clone()` on its tensors after it "
    "ends",
)
_MEANINGS: tuple[tuple[re.Pattern[str], Meaning], ...] = (
    (
        re.compile(r"FuncTorch|FuncTorchBatched"),
        Meaning(
            "it is inside a transform of torch.func (vmap, grad)",
            "it is outside the transforms of torch.func",
            "no change needed if both calls are meant: each has its own version; otherwise compile "
            "the function that calls the transform",
        ),
    ),
    (
        re.compile("Conjugate"),
        Meaning(
            "it is a conjugate view",
            "it is not a conjugate view",
            "call `.resolve_conj()` on it first",
        ),
    ),
    (
        re.compile("Negative"),
        Meaning(
            "it is a negated view", "it is not a negated view", "call `.resolve_neg()` on it first"
        ),
    ),
    (
        re.compile("Autocast"),
        Meaning(
            "the call is under autocast",
            "the call is not under autocast",
            "call it under the same state of autocast each time",
        ),
    ),
    (
        re.compile("Python"),
        Meaning(
            "it is a tensor subclass, or under a dispatch mode",
            "it is a plain tensor, under no dispatch mode",
            "pass the same kind of tensor each time",
        ),
    ),
    (re.compile("Autograd|ADInplaceOrView"), _OF_INFERENCE),
)


def keys_in_words(expected: str, actual: str) -> tuple[str, str]:
    """Return how a tensor changed, judged from its dispatch keys, and what to change.

    Both are empty if the keys give no answer.

    >>> before, after = "DispatchKeySet(CPU, AutogradCPU)", "DispatchKeySet(CPU)"
    >>> keys_in_words(before, after)[0].partition(", then ")[2]
    'it is used inside inference_mode or was created there'
    """
    old, new = (set(_KEY.findall(text.partition("(")[2])) for text in (expected, actual))
    for pattern, meaning in _MEANINGS:
        gained = any(map(pattern.match, new - old))
        if gained or any(map(pattern.match, old - new)):
            first, then = (meaning.without, meaning.with_it)[:: 1 if gained else -1]
            return f"{first}, then {then}", meaning.remedy
    return "", ""
