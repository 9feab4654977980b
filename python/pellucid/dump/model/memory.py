# SPDX-License-Identifier: Apache-2.0
"""Events for the tensors that forward graphs save for their backward graphs."""

from __future__ import annotations

from dataclasses import dataclass, field

from .keys import SPARSE, CompileKey, Place

ANYWAY = ("parameter", "buffer", "input", "view", "result")
"""The kinds of saved tensors that need no additional memory."""


@dataclass(frozen=True)
class SavedTensor:
    """One tensor that a forward graph saves for its backward graph."""

    name: str
    """The node that computes it in the forward graph, and the input of the backward graph."""
    kind: str
    """``computed`` if it needs additional memory, else why it exists anyway.

    That is: ``parameter``, ``buffer``, ``input``, ``view`` (of one of these), or ``result`` (also
    returned by the function)."""
    dtype: str
    shape: tuple[str, ...]
    """The sizes as torch prints them, symbols included."""
    bytes: int
    """Its size in bytes, for the sizes that torch compiled for; 0 if one is not known."""
    why: str
    """Why it is saved and not recomputed in the backward pass."""
    operation: str = field(default="", metadata=SPARSE)
    """The operation that computes it, such as ``aten.mm.default``; empty for inputs."""
    source: str = field(default="", metadata=SPARSE)
    """Its name in the program, such as ``self.layer.weight``; for inputs, if torch reports it."""
    place: Place | None = field(default=None, metadata=SPARSE)
    """The line of the program that computes it, or uses it first."""

    @property
    def type(self) -> str:
        """Return the type and sizes: ``float32[8, s0]``."""
        return f"{self.dtype}[{', '.join(self.shape)}]"

    @property
    def is_extra(self) -> bool:
        """Return true if it needs memory that would be free without the backward pass."""
        return self.kind not in ANYWAY


@dataclass(frozen=True)
class Saved:
    """What a forward graph saves for its backward graph, except sizes and other numbers."""

    key: CompileKey
    forward: str
    """The file of the forward graph."""
    backward: str
    """The file of the backward graph."""
    given: int
    """The size in bytes of the forward graph's inputs: parameters, buffers and inputs."""
    tensors: tuple[SavedTensor, ...]
    """In the order of the backward graph's inputs."""

    @property
    def bytes(self) -> int:
        """Return the total size."""
        return sum(tensor.bytes for tensor in self.tensors)

    @property
    def extra(self) -> int:
        """Return the size of the tensors that need additional memory."""
        return sum(tensor.bytes for tensor in self.tensors if tensor.is_extra)

    @property
    def summary(self) -> str:
        """Return the sizes in a sentence or two."""
        tensors = f"{len(self.tensors)} tensor{'s' if len(self.tensors) != 1 else ''}"
        return (
            f"{tensors} of {size_in_words(self.bytes)} stay until the backward pass has run; "
            f"{size_in_words(self.extra)} of that would be free without it. "
            f"Parameters and inputs are {size_in_words(self.given)}."
        )


def size_in_words(number: int) -> str:
    """Return a number of bytes in readable units.

    >>> size_in_words(640), size_in_words(2048), size_in_words(5 * 2**20 + 2**19)
    ('640 B', '2 KiB', '5.5 MiB')
    """
    size, unit = float(min(number, 1 << 80)), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    text = f"{size:.0f}" if size >= 100 or size == int(size) else f"{size:.1f}"
    return f"{text} {unit}"
