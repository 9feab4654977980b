"""Faults that are put into one stage of a compile; `# FAULT` marks the program's line concerned.

Each entry of FAULTS says what has to be named: the stage, the pass, and the operation.
"""

import contextlib
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

import torch
import torch._inductor.config as inductor
import torch._inductor.decomposition as decomposition

aten = torch.ops.aten


class Fault(NamedTuple):
    make: Callable[[], Any]
    args: Callable[[], Tuple[Any, ...]]
    stage: str
    direction: str
    operation: str
    inside: Callable[[], Any]
    options: Dict[str, Any]
    compiled: Dict[str, Any]


FAULTS: Dict[str, Fault] = {}


def numbers(*shape, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator).to(dtype)


WEIGHT = numbers(16, 8, seed=2)
SQUARE = numbers(16, 16, seed=3)


def plain():
    return (numbers(6, 16),)


def leaf():
    return (numbers(6, 16).requires_grad_(),)


def two():
    return numbers(6, 16), numbers(6, 16, seed=1)


def fault(stage, direction, operation, args=plain, inside=contextlib.nullcontext, **more):
    compiled = more.pop("compiled", {})

    def register(made):
        make = made if isinstance(made, type) else lambda: made
        FAULTS[made.__name__] = Fault(
            make, args, stage, direction, operation, inside, more, compiled
        )
        return made

    return register


@contextlib.contextmanager
def attribute(owner, name, value):
    before = vars(owner)[name]
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def decomposed(operator, function):
    """A wrong decomposition."""

    @contextlib.contextmanager
    def inside():
        table = decomposition.decompositions
        before = table.get(operator)
        table[operator] = function
        decomposition.fast_random_decomps.cache_clear()  # a copy of the table, which Inductor keeps
        try:
            yield
        finally:
            if before is None:
                del table[operator]
            else:
                table[operator] = before
            decomposition.fast_random_decomps.cache_clear()

    return inside


def changed(setting, change, **settings):
    """A pass of the user's over the graphs of one stage."""
    return lambda: inductor.patch({setting: change, **settings})


def nodes(graph, target) -> List[Any]:
    return [node for node in graph.nodes if node.target is target]


def put_after(target, operator, *more):
    """A pass that puts one more operation after each of one kind."""

    def change(graph):
        for node in nodes(graph, target):
            users = list(node.users)
            with graph.inserting_after(node):
                new = graph.call_function(operator, (node, *more))
            new.meta.update(node.meta)
            for user in users:
                user.replace_input_with(node, new)

    return change


def put_in_place(target, function):
    """A pass that puts something else in the place of each operation of one kind."""

    def change(graph):
        for node in nodes(graph, target):
            with graph.inserting_before(node):
                new = function(graph, node)
            node.replace_all_uses_with(new)
            graph.erase_node(node)

    return change


def of_gradients(change):
    """The same pass over the graph of a backward pass alone."""

    def only_there(graph):
        if any(node.name.startswith("tangents") for node in graph.nodes):
            change(graph)

    return only_there


def call(graph, like, operator, *args):
    node = graph.call_function(operator, args)
    node.meta.update({k: v for k, v in like.meta.items() if k != "val"})
    node.meta["val"] = operator(*torch.fx.node.map_arg(args, lambda n: n.meta["val"]))
    return node


def kernel(name, text):
    """A kernel that computes something else."""

    @contextlib.contextmanager
    def inside():
        from torch._inductor.codegen import cpp

        with contextlib.ExitStack() as stack:
            for owner in (cpp.CppOverrides, cpp.CppVecOverrides):
                right = getattr(owner, name)

                def wrong(*args, right=right):
                    return text.format(right(*args))

                stack.enter_context(attribute(owner, name, staticmethod(wrong)))
            yield

    return inside
