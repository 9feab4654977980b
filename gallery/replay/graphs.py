# SPDX-License-Identifier: Apache-2.0
"""Graphs from their files: the one that Dynamo captured, or what was made of it later.

Where AOTAutograd made a forward and a backward graph (or Inductor programs of them), these are what
ran, and their files run here, as one `torch.autograd.Function`. Where they are more than that,
because inputs are written to, or outputs are views that AOTAutograd makes anew, the captured graph
runs instead.
"""

import ast
import importlib.util
import re
import types
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional

import torch

from .files import CannotReplay

_UNKNOWN = re.compile(r"^    graph\.\w+(?:\.\w+)* = torch\.(?:randn|zeros|ones)\(", re.MULTILINE)
Values = List[Any]


class Signature(NamedTuple):
    """The names that a printed graph takes, and those that it returns."""

    takes: List[str]
    returns: List[str]


class Pair(NamedTuple):
    """A forward graph and, unless nothing is trained, its backward graph."""

    forward: Callable[[Values], Values]
    backward: Optional[Callable[[Values], Values]]
    outputs: int
    returned: List[str]
    wanted: List[str]
    """What the backward graph takes, but for the tangents."""


class Graphs:
    """The graphs of a dump, each loaded when it is first called."""

    def __init__(self, folder: Path) -> None:
        """Take the folder of a dump."""
        self.folder = folder
        self.ran: Counter[str] = Counter()
        self.shared: Dict[str, torch.Tensor] = {}
        """The program's own tensors that are constants of graphs, by their names there."""
        self._made: Dict[str, Any] = {}

    def call(self, captured: str, args: Values) -> Any:
        """Call what a captured graph's file stands for."""
        if captured not in self._made:
            self._made[captured] = self._pair(captured.replace(".captured.py", ""))
        pair = self._made[captured]
        if pair is not None and pair.backward is not None and torch.is_grad_enabled():
            self.ran["forward and backward graph"] += 1
            return _Trained.apply(pair, *args)
        if pair is not None and pair.backward is None:
            self.ran["inference graph"] += 1
            return tuple(pair.forward(list(args))[: pair.outputs])
        self.ran["captured graph"] += 1
        return self._captured(captured)(*args)

    def _captured(self, name: str) -> Any:
        key = f"graph {name}"
        if key not in self._made:
            self._made[key] = load(self.folder / name)
        graph = self._made[key]
        for constant in vars(graph).keys() & self.shared.keys():
            setattr(graph, constant, self.shared[constant])
        return graph

    def _pair(self, base: str) -> Optional[Pair]:
        """What AOTAutograd or Inductor made, where that can run in place of the captured graph."""
        captured = signature(self.folder / f"{base}.captured.py")
        stages = ("forward", "backward"), ("inference",)
        for kinds in stages:
            files = [self.folder / f"{base}.{kind}.py" for kind in kinds]
            if not all(file.exists() for file in files):
                continue
            forward = signature(files[0])
            takes = signature(files[1]).takes if files[1:] else []
            wanted = [name for name in takes if not name.startswith("tangents_")]
            extra = len(wanted)
            same = len(forward.takes) == len(captured.takes)
            if not same or len(forward.returns) - extra != len(captured.returns):
                return None
            if len(takes) - extra not in (0, len(captured.returns)):
                return None
            runs = [self._runs(base, kind) for kind in kinds]
            count = len(captured.returns)
            returned = forward.returns[count:]
            if set(wanted) - set(returned):
                return None
            return Pair(runs[0], runs[1] if files[1:] else None, count, returned, wanted)
        return None

    def _runs(self, base: str, kind: str) -> Callable[[Values], Values]:
        program = self.folder / f"{base}.inductor_{kind}.py"
        if program.exists():
            spec = importlib.util.spec_from_file_location(f"replayed_{base}_{kind}", program)
            if spec is None or spec.loader is None:
                raise CannotReplay(f"{program.name} cannot be imported")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            call: Callable[[Values], Values] = module.call
            return call
        path = self.folder / f"{base}.{kind}.py"
        graph = load(path)
        if "def forward(self, args_list" in path.read_text(encoding="utf-8"):
            return lambda values: list(graph(values))
        return lambda values: list(graph(*values))


class _Trained(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, pair: Pair, *inputs: Any) -> Any:
        values = pair.forward([v.detach() if torch.is_tensor(v) else v for v in inputs])
        context.pair = pair
        context.kept = dict(zip(pair.returned, values[pair.outputs :]))
        return tuple(values[: pair.outputs])

    @staticmethod
    def backward(context: Any, *tangents: Any) -> Any:
        pair = context.pair
        kept = [context.kept[name] for name in pair.wanted]
        gradients = pair.backward([*kept, *(t.contiguous() for t in tangents)])
        return (None, *gradients)


def signature(path: Path) -> Signature:
    """Read what the graph of a file takes and returns off its text."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    graph = [node for node in tree.body if isinstance(node, ast.ClassDef)][-1]
    forward = next(n for n in graph.body if isinstance(n, ast.FunctionDef) and n.name == "forward")
    takes = [argument.arg for argument in forward.args.args[1:]]
    if takes == ["args_list"]:
        takes = [
            node.targets[0].id
            for node in forward.body
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and ast.unparse(node.value) == "next(args_iter)"
        ]
    last = forward.body[-1]
    value = last.value if isinstance(last, ast.Return) else None
    elements = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
    return Signature(takes, [ast.unparse(element) for element in elements])


def load(path: Path) -> Any:
    """The graph of a file, with the constants that the file gives it."""
    text = path.read_text(encoding="utf-8")
    if _UNKNOWN.search(text):
        raise CannotReplay(f"{path.name} has a constant of which the file does not hold the values")
    tree = ast.parse(text)
    main = tree.body.pop() if isinstance(tree.body[-1], ast.If) else None
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    scope = vars(module)
    exec(compile(tree, str(path), "exec"), scope)
    classes = [v for v in scope.values() if isinstance(v, type) and v.__module__ == path.stem]
    if not classes:
        raise CannotReplay(f"{path.name} holds no graph")
    scope["graph"] = classes[-1]()
    body = main.body if isinstance(main, ast.If) else []
    ends = next((n for n, node in enumerate(body) if isinstance(node, ast.With)), 0)
    built: List[ast.stmt] = [node for node in body[:ends] if not isinstance(node, ast.If)]
    exec(compile(ast.Module(built, []), str(path), "exec"), scope)
    return scope["graph"]
