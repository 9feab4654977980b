# SPDX-License-Identifier: Apache-2.0
"""The tensors that a forward graph saves for its backward graph, and why: from the two graphs.

torch's partitioner cuts the joint graph where the least has to be saved.  It does not report its
reasons, but they follow from its rules (``solve_min_cut`` in ``torch/_functorch/partitioners.py``):
it never recomputes some operations, tensors that the backward pass reads from memory anyway, and
tensors much smaller than their operands.  All other saved tensors were cheaper to save than to
recompute.
"""

from __future__ import annotations

import re
from typing import Collection, Mapping, Sequence

from .keys import Place
from .memory import SavedTensor, size_in_words
from .names import as_written
from .needs import sizes_of
from .nodes import Node

_MUCH_SMALLER = 4
"""An operation whose result is this many times smaller than its operands is not recomputed."""
_ITEM = "operator.getitem"
_VIEWS = re.compile(
    r"^aten\.(?:alias|as_strided|broadcast_to|detach|diagonal|expand|lift_fresh|narrow|permute|real|"
    r"_reshape_alias|select|slice|split|split_with_sizes|squeeze|t|transpose|unbind|unfold|"
    r"_unsafe_view|unsqueeze|view|view_as_complex|view_as_real)$"
)
_DENSE: Sequence[tuple[re.Pattern[str], str]] = (
    (
        re.compile(r"^aten\.(?:add|addb|badd|b|_scaled_|_int_)?(?:mm|bmm)$|^aten\.matmul"),
        "matrices",
    ),
    (re.compile(r"convolution"), "convolution"),
    (re.compile(r"attention|^flex_"), "attention"),
)
_DENSE_WORDS = {
    "matrices": "a matrix multiplication, which torch does not recompute",
    "convolution": "a convolution, which torch does not recompute",
    "attention": "attention, which torch does not recompute",
}
_RANDOM = re.compile(
    r"\.(?:rand|randn|randint|randperm|bernoulli|normal|uniform|exponential|dropout|native_dropout|"
    r"multinomial|inductor_random|inductor_randint|inductor_seeds?|rand_like|randn_like|philox_\w+|"
    r"rngprims\w*)$"
)
_TANGENT = re.compile(r"^(?:tangents_|bwd_seed|bwd_base|bwd_rng|fwd_rng)")
_RETURN = re.compile(r"^ {8}return\b(.*?)(?=^ {0,8}[)\]]|^(?! {8})|^ {8}(?! )\S|\Z)", re.M | re.S)
_SIZES = {"bool": 1, "complex32": 4, "complex64": 8, "complex128": 16}


class _Graphs:
    """The two graphs of a compile, and queries on their nodes."""

    def __init__(
        self,
        forward: Sequence[Node],
        backward: Sequence[Node],
        symbols: Mapping[str, int],
        again: Collection[str] | None,
    ) -> None:
        self.forward = {node.name: node for node in forward if not node.graph}
        own = [node for node in backward if not node.graph]
        self.saved = [
            node.name
            for node in own
            if node.op == "placeholder"
            and node.name in self.forward
            and not _TANGENT.match(node.name)
            and self.forward[node.name].shape is not None
        ]
        self.symbols, self.again = symbols, again
        self._takers: dict[str, list[Node]] = {}
        for node in own:
            for name in node.args if node.op != "placeholder" else ():
                self._takers.setdefault(name, []).append(node)
        self._sizes: dict[str, int] = {}

    def size(self, node: Node) -> int:
        """Return the size of a node in bytes; 0 if a size is unknown or it is not a tensor."""
        if node.name not in self._sizes:
            self._sizes[node.name] = _bytes(node, self.symbols)
        return self._sizes[node.name]

    def base(self, node: Node) -> Node:
        """Return the base of a view; a node that is not a view is its own base."""
        seen = {node.name}
        while is_view(node):
            inner = [self.forward[name] for name in node.args if name in self.forward]
            if not inner or inner[0].name in seen:
                break
            node = inner[0]
            seen.add(node.name)
        return node

    def operation(self, node: Node) -> Node:
        """Return the operation that produces a node; it may have several results."""
        seen = set()
        while node.target == _ITEM and node.args and node.args[0] in self.forward:
            if node.name in seen:
                break  # in a log, a graph may define one name twice
            seen.add(node.name)
            node = self.forward[node.args[0]]
        return node

    def read_by(self, name: str) -> Node | None:
        """Return the backward operation that reads a tensor from memory as a whole."""
        pending, seen = [name], {name}
        while pending:
            for taker in self._takers.get(pending.pop(), ()):
                if is_view(taker):
                    if taker.name not in seen:
                        seen.add(taker.name)
                        pending.append(taker.name)
                elif _dense(taker):
                    return taker
        return None

    def shrinks(self, node: Node, made: Node) -> int:
        """Return how many times smaller a result is than its operands; 0 if not much smaller."""
        size = self.size(node)
        taken = sum(self.size(self.forward[name]) for name in made.args if name in self.forward)
        return taken // size if size and taken > _MUCH_SMALLER * size else 0

    def needed(self, node: Node) -> list[Node]:
        """Return the tensors to save in place of a node so that it can be recomputed."""
        found: dict[str, Node] = {}
        pending, seen = list(node.args), set(node.args)
        while pending:
            other = self.forward.get(pending.pop())
            if other is None or other.op != "call_function" or other.name in self.saved:
                continue
            made = self.operation(other)
            if _never(made, self.again) or self.shrinks(other, made):
                if other.shape is not None:
                    found[other.name] = other
                continue
            for name in made.args:
                if name not in seen:
                    seen.add(name)
                    pending.append(name)
        return list(found.values())


def saved_by(
    forward: Sequence[Node],
    backward: Sequence[Node],
    returned: Sequence[str],
    symbols: Mapping[str, int],
    sources: Sequence[str] = (),
    again: Collection[str] | None = None,
) -> tuple[int, tuple[SavedTensor, ...]]:
    """Return the size of the forward graph's inputs in bytes, and the tensors it saves.

    Args:
        forward: the nodes of the forward graph.
        backward: the nodes of the backward graph.
        returned: the names that the forward graph returns, with duplicates.
        symbols: the values of symbolic sizes.
        sources: the sources of the forward graph's inputs, in torch's words and in order; empty if
            unknown.
        again: the operations that torch recomputes, ``aten.add``; None if it does not say.
    """
    graphs = _Graphs(forward, backward, symbols, again)
    inputs = [n for n in graphs.forward.values() if n.op == "placeholder"]
    own = [node for node in inputs if not re.match(r"(?:fwd_seed|fwd_base|fwd_rng)", node.name)]
    known = dict(zip((n.name for n in own), sources)) if len(own) == len(sources) else {}
    tensors = []
    kept: dict[str, str] = {}
    for name in graphs.saved:
        node = graphs.forward[name]
        kind, why = _kind(graphs, node, returned, known)
        first = kept.setdefault(graphs.base(node).name, name)
        if kind == "computed" and first != name:
            kind, why = "view", f"it shares the memory of `{first}`, which is saved as well"
        source = known.get(graphs.base(node).name, "") if kind in _COMES_IN else ""
        tensors.append(
            SavedTensor(
                name,
                kind,
                node.dtype,
                node.shape or (),
                graphs.size(node),
                why,
                "" if node.op == "placeholder" else operation_of(graphs.operation(node), True),
                as_written(source),
                node.place or _first_use(graphs, name),
            )
        )
    return sum(graphs.size(node) for node in inputs), tuple(tensors)


_COMES_IN = ("parameter", "buffer", "input", "view")


def _kind(
    graphs: _Graphs, node: Node, returned: Sequence[str], sources: Mapping[str, str]
) -> tuple[str, str]:
    if node.op in ("placeholder", "get_attr"):
        return _incoming(sources.get(node.name, ""))
    base = graphs.base(node)
    if base.op in ("placeholder", "get_attr"):
        return "view", f"a view of {_incoming(sources.get(base.name, ''))[1]}"
    if returned.count(node.name) > 1 or (base is not node and base.name in returned):
        return "result", "also a result of the function, so it is in memory anyway"
    if base is not node and base.name in graphs.saved:
        return "view", f"a view of `{base.name}`, which is saved as well"
    return "computed", _why(graphs, node, base)


def _incoming(source: str) -> tuple[str, str]:
    if "_parameters" in source or re.search(r"\.(?:weight|bias)$", source):
        return "parameter", "a parameter, which is in memory anyway"
    if "_buffers" in source:
        return "buffer", "a buffer, which is in memory anyway"
    return "input", "an input, which must stay in memory until the backward pass"


def _why(graphs: _Graphs, kept: Node, node: Node) -> str:
    """Return why a computed tensor, or a view of it, is saved: the first of torch's rules."""
    made = graphs.operation(node)
    name = operation_of(made)
    if _RANDOM.search(name):
        return "random numbers: a second draw would give different ones"
    dense = _dense(made)
    if dense:
        return _DENSE_WORDS[dense]
    if graphs.again is not None and name not in graphs.again:
        return f"`{name}` is not an operation that torch recomputes"
    reader = graphs.read_by(kept.name)
    if reader is not None:
        return f"`{operation_of(reader)}` in the backward pass reads all of it from memory"
    times = graphs.shrinks(node, made)
    if times:
        return f"{times} times smaller than its inputs"
    needed = graphs.needed(node)
    if needed:
        listed = ", ".join(f"`{other.name}`" for other in needed[:3])
        more = f" and {len(needed) - 3} more" if len(needed) > 3 else ""
        total = size_in_words(sum(map(graphs.size, needed)))
        return f"recomputing it would require saving {listed}{more} instead: {total}"
    return "torch estimates that saving it is cheaper than recomputing it"


def operation_of(node: Node, with_overload: bool = False) -> str:
    """Return the called operator: ``aten.mm``, or with its overload ``aten.mm.default``.

    >>> node = Node("mm", "call_function", "torch.ops.aten.mm.default", 3)
    >>> operation_of(node), operation_of(node, True)
    ('aten.mm', 'aten.mm.default')
    """
    name = node.target[len("torch.ops.") :] if node.target.startswith("torch.ops.") else node.target
    return name if with_overload or name.count(".") < 2 else name.rpartition(".")[0]


def is_view(node: Node) -> bool:
    """Return true if a node's result shares memory with its argument."""
    return node.op == "call_function" and _VIEWS.match(operation_of(node)) is not None


def _dense(node: Node) -> str:
    name = operation_of(node)
    return next((words for pattern, words in _DENSE if pattern.search(name)), "")


def _never(node: Node, again: Collection[str] | None) -> bool:
    """Return true if torch never recomputes an operation."""
    name = operation_of(node)
    if _RANDOM.search(name) or _dense(node):
        return True
    return again is not None and name not in again and not is_view(node)


def _first_use(graphs: _Graphs, name: str) -> Place | None:
    users = (n for n in graphs.forward.values() if name in n.args and n.place is not None)
    return next((node.place for node in users), None)


def _bytes(node: Node, symbols: Mapping[str, int]) -> int:
    """Return a tensor's memory in bytes; expanded elements count once."""
    if node.shape is None:
        return 0
    try:
        shape = sizes_of(", ".join(node.shape), symbols)
        stride = None if node.stride is None else sizes_of(", ".join(node.stride), symbols)
    except (ArithmeticError, KeyError, SyntaxError, TypeError, ValueError):
        return 0
    number = span = 1
    for size, step in zip(shape, stride if stride is not None else (1,) * len(shape)):
        number *= size
        span += (size - 1) * step
    if number and stride is not None:
        number = min(number, span)
    return number * _item_size(node.dtype)


def _item_size(dtype: str) -> int:
    bits = re.search(r"(\d+)", dtype)
    return _SIZES.get(dtype) or (int(bits[1]) // 8 if bits else 0)


def returned_names(text: str) -> tuple[str, ...]:
    """Return the names that a printed graph returns, with duplicates.

    >>> returned_names("class G(M):\\n    def forward(self, x):\\n        return (x, y, x)\\n")
    ('x', 'y', 'x')
    """
    found = _RETURN.search(text)
    lines = [line.partition("#")[0] for line in (found[1] if found else "").split("\n")]
    return tuple(re.findall(r"(?<![\w.'\"])[A-Za-z_]\w*", "\n".join(lines)))
