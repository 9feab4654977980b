# SPDX-License-Identifier: Apache-2.0
"""What the torch of the interpreter that runs this has, and what of it pellucid does not know.

The tables are those of python/pellucid/torch and dump, imported without the package around them,
which needs pellucid's extension; where that is there, a small program is captured as well, and what
the capture says of this torch is told. What is known and of no use is in known/torch.json.
"""

import ast
import importlib
import importlib.abc
import importlib.util
import inspect
import json
import re
import sys
import tempfile
import types
import warnings
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Dict, Iterable, List, Set, Tuple

from interpreter import News

Known = Dict[str, List[str]]

_HERE = "python/pellucid/torch/"
_MODEL = "python/pellucid/dump/model/"
_TABLES = (
    "pellucid.torch.taps.compat",
    "pellucid.torch.taps.shapes",
    "pellucid.torch.taps.trace",
    "pellucid.dump.model.stages",
    "pellucid.dump.model.traced",
    "pellucid.torch.capture.metrics",
    "pellucid.torch.guards.kinds",
    "pellucid.torch.guards.access",
)
_TRACED = (
    "_dynamo",
    "_functorch",
    "_inductor",
    "fx",
    "_logging",
    "_higher_order_ops",
    "_subclasses",
)
# The calls that send an event, with the argument that names it: its position and its keyword.
_SENDERS = {
    "trace_structured": (0, "name"),
    "trace_structured_artifact": (0, "name"),
    "_compile_and_exec_source": (3, "artifact_name"),
    "PySourceBuilder": (9, "artifact_name"),
}
# What torch calls its things and how it words them, where pellucid goes by that.
_WORDS = [
    ("Graph Break Reason: ", _MODEL + "breaks.py"),
    ("User code traceback:", _MODEL + "breaks.py, taps/hooks.py (_break_text)"),
    ("torch_dynamo_resume_in", _MODEL + "dynamo_names.py"),
    ("__compiled_fn", _MODEL + "dynamo_names.py"),
    ("__resume_at", _MODEL + "dynamo_names.py"),
    ("AOT ID: ", _MODEL + "stages.py (program_direction)"),
    ("async_compile.", _MODEL + "stages.py (kernels)"),
    ("CompilationMetrics", _HERE + "capture/metrics.py"),
]
# Of torch's guards, those that stand for others.
_BASES = frozenset(["LeafGuard", "RelationalGuard", "GuardAccessor"])


def version() -> str:
    """Return the version of torch."""
    import torch

    return str(torch.__version__)


def known(path: Path) -> Known:
    """Return what a record says is known."""
    if not path.exists():
        return {}
    found: Known = json.loads(path.read_text(encoding="utf-8"))
    return found


class _InTree(importlib.abc.MetaPathFinder):
    """Finds pellucid's modules in a tree, whatever is installed."""

    def __init__(self, root: Path) -> None:
        self._root = root / "python"

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        file = self._root.joinpath(*name.split(".")).with_suffix(".py")
        if not name.startswith("pellucid.") or not file.exists():
            return None
        return importlib.util.spec_from_file_location(name, file)


def tables(root: Path) -> types.SimpleNamespace:
    """Import the modules of ours that have tables, and nothing else of pellucid."""
    saved = {
        name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith("pellucid")
    }
    finder = _InTree(root)
    sys.meta_path.insert(0, finder)
    try:
        folders = {name.rsplit(".", up)[0] for name in _TABLES for up in (1, 2, 3)}
        for name in sorted(folders):
            package = types.ModuleType(name)
            package.__path__ = [str(root / "python" / name.replace(".", "/"))]
            sys.modules[name] = package
        modules = {"_".join(name.split(".")[2:]): importlib.import_module(name) for name in _TABLES}
    finally:
        sys.meta_path.remove(finder)
        for name in list(sys.modules):
            if name.startswith("pellucid"):
                del sys.modules[name]
        sys.modules.update(saved)
    return types.SimpleNamespace(**modules)


def relations(root: Path) -> Set[str]:
    """Return the guards between values, from the text of translate.py, which imports more."""
    text = (root / _HERE / "guards/translate.py").read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "_RELATIONS":
            assert isinstance(node.value, ast.Dict)
            return {key.value for key in node.value.keys if isinstance(key, ast.Constant)}
    return set()


# -- names and shapes ------------------------------------------------------------------------------


def name_news(ours: Any) -> List[News]:
    """Return the capabilities for which no path leads to anything."""
    import torch
    import torch._inductor.compile_fx

    found = []
    release = tuple(map(int, torch.__version__.split(".")[:2]))
    for row in ours.taps_compat.TABLE:
        if row.since <= release and all(
            ours.taps_compat.resolve(path) is None for path in row.paths
        ):
            text = "%s is at none of %s: %s" % (row.name, ", ".join(row.paths), row.lost)
            found.append(News(_HERE + "taps/compat.py", text))
    return found


def shape_news(ours: Any) -> List[News]:
    """Return the shapes that this torch has not, and those whose check has lost its place."""
    found = []
    for row in ours.taps_shapes.TABLE:
        try:
            answer = row.check()
        except Exception as error:
            answer, why = False, " (%s: %s)" % (type(error).__name__, error)
        else:
            why = ""
        if answer is False:
            text = "no %s in the expected place%s: %s" % (row.name, why, row.lost)
            found.append(News(_HERE + "taps/shapes.py", text))
        elif answer is None:
            text = "whether there is a %s can no longer be checked" % row.name
            found.append(News(_HERE + "taps/shapes.py", text))
    return found


def word_news() -> List[News]:
    """Return the names and wordings that torch's sources no longer have."""
    missing = dict(_WORDS)
    for text in _sources():
        for word in [word for word in missing if word in text]:
            del missing[word]
    return [News(file, "torch no longer says %r" % word) for word, file in missing.items()]


# -- lists -----------------------------------------------------------------------------------------


def _guard_classes(base: str) -> Set[str]:
    import torch

    module = torch._C._dynamo.guards
    classes = {n: c for n, c in vars(module).items() if isinstance(c, type)}
    return {n for n, c in classes.items() if issubclass(c, classes[base]) and n not in _BASES}


def _sources() -> Iterable[str]:
    import torch

    top = Path(torch.__file__).parent
    for folder in _TRACED:
        for path in sorted((top / folder).rglob("*.py")):
            yield path.read_text(encoding="utf-8", errors="replace")


def _names(node: Any, assigned: Dict[str, List[Any]]) -> Set[str]:
    """Return the texts that an expression may be, with * for what is known only at run time."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return {node.value}
    if isinstance(node, ast.JoinedStr):
        parts = [p.value if isinstance(p, ast.Constant) else "*" for p in node.values]
        return {"".join(map(str, parts))}
    if isinstance(node, ast.BinOp):
        pairs = ((_names(node.left, assigned) or {"*"}), (_names(node.right, assigned) or {"*"}))
        return {left + right for left in pairs[0] for right in pairs[1]}
    if isinstance(node, ast.IfExp):
        return _names(node.body, assigned) | _names(node.orelse, assigned)
    if isinstance(node, ast.Name):
        values = assigned.get(node.id, [])
        return {name for value in values for name in _names(value, {})}
    return set()


def traced(text: str) -> Set[str]:
    """Return the kinds of events that a module of torch's sends, as `model.traced` has them.

    >>> sorted(traced('trace_structured("a")\\ntrace_structured_artifact(f"b_{c}", "string")'))
    ['a', 'artifact:b_*']
    """
    found: Set[str] = set()
    scopes: List[Tuple[Any, Dict[str, List[Any]]]] = [(ast.parse(text), {})]
    for scope, outer in scopes:
        assigned, calls = dict(outer), []
        waiting = list(ast.iter_child_nodes(scope))
        while waiting:
            node = waiting.pop()
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                scopes.append((node, assigned))
                continue
            waiting += ast.iter_child_nodes(node)
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        assigned.setdefault(target.id, []).append(node.value)
            elif isinstance(node, ast.Call):
                calls.append(node)
        for call in calls:
            found |= _sent(call, assigned)
    return found - {"*", "artifact:*", "artifact"}


def _sent(node: ast.Call, assigned: Dict[str, List[Any]]) -> Set[str]:
    """Return the kinds of events that one call sends."""
    sender = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if sender not in _SENDERS:
        return set()
    position, keyword = _SENDERS[sender]
    given = {k.arg: k.value for k in node.keywords}
    first = node.args[position] if len(node.args) > position else given.get(keyword)
    names = _names(first, assigned)
    if sender != "trace_structured":
        return {"artifact:" + name for name in names}
    if names != {"artifact"}:
        return names
    about = node.args[1] if len(node.args) > 1 else given.get("metadata_fn")
    tables = [d for d in ast.walk(about) if isinstance(d, ast.Dict)] if about else []
    pairs = [pair for d in tables for pair in zip(d.keys, d.values)]
    named = [v for k, v in pairs if isinstance(k, ast.Constant) and k.value == "name"]
    return {"artifact:" + name for value in named for name in _names(value, assigned)}


def _traced() -> Set[str]:
    found: Set[str] = set()
    for text in _sources():
        if any(sender in text for sender in _SENDERS):
            found |= traced(text)
    return found


def trace_news(ours: Any) -> List[News]:
    """Return the kinds of events for which the table says nothing; --accept takes none of them."""
    found, table = [], ours.model_traced
    for kind in sorted(_traced()):
        is_of_row = any(fnmatchcase(row, kind) for row in table.KINDS)  # where torch makes the name
        if table.fate_of(kind.replace("*", "0")) is None and not is_of_row:
            text = "event of the trace %s is not in the table" % kind
            found.append(News(_MODEL + "traced.py", text))
    return found


def _metrics() -> Set[str]:
    import torch._dynamo.utils as utils

    return set(getattr(utils.CompilationMetrics, "__dataclass_fields__", ()))


def _makers() -> Set[str]:
    from torch._inductor.async_compile import AsyncCompile

    found = set()
    for name, value in vars(AsyncCompile).items():
        if inspect.isfunction(value) and not name.startswith("_"):
            found.add(name)
    return found


def _breaks() -> Dict[str, str]:
    import torch._dynamo

    path = Path(torch._dynamo.__file__).with_name("graph_break_registry.json")
    if not path.exists():
        return {}
    table = json.loads(path.read_text(encoding="utf-8"))
    return {name: str(rows[0].get("Gb_type", "")) for name, rows in table.items() if rows}


def lists(root: Path, ours: Any) -> List[Tuple[str, str, Set[str], Set[str]]]:
    """Return each list of names: what it is, the file to edit, what there is, what is known."""
    guards = set(ours.guards_kinds._BY_KIND) | set(ours.guards_kinds._ALSO_AS_WORDED)
    return [
        (
            "kind of guard",
            _HERE + "guards/kinds.py, guards/translate.py (_RELATIONS)",
            _guard_classes("LeafGuard"),
            guards | relations(root),
        ),
        (
            "way to a guarded value",
            _HERE + "guards/access.py",
            _guard_classes("GuardAccessor"),
            {name.partition(":")[0] for name in ours.guards_access._BY_ACCESSOR},
        ),
        (
            "kind of async_compile",
            _MODEL + "stages.py (SUFFIX_OF_KERNEL)",
            _makers(),
            set(ours.model_stages.SUFFIX_OF_KERNEL) | ours.model_stages.NO_KERNELS,
        ),
        (
            "metric",
            _HERE + "capture/metrics.py",
            _metrics(),
            set(ours.capture_metrics._STABLE_METRICS),
        ),
        ("graph break", _MODEL + "events.py (Break)", set(_breaks()), set()),
    ]


def list_news(root: Path, ours: Any, accepted: Known) -> List[News]:
    """Return the names that neither a table of ours nor the record has."""
    found, breaks = [], _breaks()
    for what, file, here, handled in lists(root, ours):
        new = here - handled - set(accepted.get(what, ()))
        for name in sorted(new):
            told = " (%s)" % breaks[name] if what == "graph break" else ""
            found.append(News(file, "%s %s is not known%s" % (what, name, told)))
    return found


def accept(before: Known) -> Known:
    """Return a record with all names of this torch that no table of ours has."""
    root = Path(__file__).resolve().parents[2]
    ours = tables(root)
    return {
        what: sorted(set(before.get(what, ())) | (here - handled))
        for what, _, here, handled in lists(root, ours)
    }


# -- a capture -------------------------------------------------------------------------------------


def captured_news(root: Path) -> List[News]:
    """Capture a small program, and return what the capture says of this torch."""
    by_wording = set(tables(root).guards_kinds._BY_KIND)
    try:
        import pellucid
        from pellucid.dump.model.events import Problem
    except ImportError as error:
        print("torch: nothing was captured, as pellucid is not built for this Python: %s" % error)
        return []
    import torch

    def step(model: Any, x: Any) -> Any:
        y = model(x)
        torch._dynamo.graph_break()
        return (y * x.shape[0]).relu()

    problems: List[Any] = []
    worded: List[str] = []
    for backend in ("eager", "aot_eager", "inductor"):
        torch._dynamo.reset()
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
            warnings.simplefilter("ignore")
            with pellucid.prepare_debug(folder) as session:
                model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
                compiled = torch.compile(step, backend=backend)
                for size in (2, 3):
                    compiled(model, torch.ones(size, 3, requires_grad=True)).sum().backward()
            problems += session.of(Problem)
            for path in Path(folder).glob("full_code_*.py"):
                worded += re.findall(r"yield LEAF_GUARD\('(\w+)'", path.read_text(encoding="utf-8"))
    told = dict.fromkeys((problem.where, problem.what) for problem in problems)
    found = [News("what a capture of a small program says", "%s: %s" % pair) for pair in told]
    for kind in sorted(by_wording & set(worded)):
        text = "torch's wording of a guard of kind %s is not understood" % kind
        found.append(News(_HERE + "guards/kinds.py", text))
    return found


def news(root: Path, accepted: Known) -> List[News]:
    """Return everything that pellucid does not know of this torch."""
    ours = tables(root)
    found = name_news(ours) + shape_news(ours) + word_news() + trace_news(ours)
    return found + list_news(root, ours, accepted)
