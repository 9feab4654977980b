"""Dumps for the tests of the page, written without torch: a small one, and ones of any size."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Dict, Iterable, List, Optional, Tuple

from pellucid.dump.model.breaks import break_of
from pellucid.dump.model.capture import NODES, Capture
from pellucid.dump.model.events import (
    CacheEntry,
    CacheUse,
    CompileKey,
    Frame,
    Graph,
    Guard,
    KernelFile,
    Place,
    Recompile,
    Source,
    Span,
    Started,
    Times,
    Verdict,
)
from pellucid.dump.model.failures import failures_of
from pellucid.dump.model.nodes import Node, nodes_to_bytes
from pellucid.dump.store.record import RECORD, TIMES, record_text, side_files, times_text

TOY = "/home/someone/work/toy.py"
BREAK_AT = 3
SOURCE = """\
def toy(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b
"""
_GRAPH = """\
# compile [{key}] · the {stage} graph
import torch


class GraphModule(torch.nn.Module):
    def forward(self, L_a_: "f32[{size}]", L_b_: "f32[{size}]"):
        l_a_ = L_a_
        l_b_ = L_b_

        # File: {toy}:2 in toy, code: x = a / (torch.abs(a) + 1)
        abs_1: "f32[{size}]" = torch.abs(l_a_)
        add: "f32[{size}]" = abs_1 + 1;  abs_1 = None
        x: "f32[{size}]" = l_a_ / add;  l_a_ = add = None

        # Backward of forward node: File: {toy}:3 in toy, code: if b.sum() < 0:
        sum_1: "f32[]" = l_b_.sum();  l_b_ = None
        lt: "b8[]" = sum_1 < 0;  sum_1 = None
        return (lt, x)
"""
_CODE = """\
# toy · {toy}:1 · compile [{key}] · proven equivalent

def toy(a, b):
    # toy.py:2-3  x = a / (torch.abs(a) + 1); if b.sum() < 0:
    condition, x = __compiled_fn_{slug}(a, b)
    if condition:
        return __resume_at_1(b, x)  # toy.py:4  b = b * -1
    return __resume_at_2(b, x)  # toy.py:5  return x * b
"""
_PROGRAM = """\
# compile [{key}] · Inductor's output for the forward graph
import torch

cpp_fused_abs_add_div_0 = async_compile.cpp_pybinding(['const float*'], r'''
extern "C" void kernel(const float* in_ptr0)
{{
    for (int64_t x0 = 0; x0 < {size}; x0 += 1) {{}}
}}
''')


def call(args):
    arg0_1, arg1_1 = args
    # Topologically Sorted Source Nodes: [abs_1, add, x], Original ATen: [aten.abs, aten.div]
    cpp_fused_abs_add_div_0(arg0_1, buf0)
    return (buf1, buf0)
"""
_KERNEL = 'extern "C" void kernel(const float* in_ptr0)\n{{\n    // {size}\n}}\n'
_FULL = """\
# toy · {toy}:1 · 2 compiled versions

# {toy}:1
def __original_toy(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def toy(a, b):
    return __original_toy(a, b)
"""
_BREAK = f"""\
Graph break in user code at {TOY}:3
Graph Break Reason: Data-dependent branching
  Explanation: Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`).
  Hint: Use `torch.cond` to express dynamic control flow.

  Developer debug context: attempted to jump with TensorVariable()
"""


def write(
    directory: Path,
    events: Iterable[object],
    files: Dict[str, str],
    caches: Optional[Dict[int, Tuple[CacheEntry, ...]]] = None,
    nodes: Optional[Dict[str, List[Node]]] = None,
    **more: object,
) -> Path:
    """Write a dump of these events and files; return its directory."""
    directory.mkdir(parents=True, exist_ok=True)
    names = (*sorted(files), RECORD, TIMES)
    capture = Capture(
        directory=directory,
        schema=2,
        versions={"pellucid": "0.1.0", "python": "3.11.7", "torch": "2.13.0"},
        configuration={},
        events=tuple(events),
        caches=caches or {},
        files=names,
    )
    capture = replace(capture, **more)
    for name, text in files.items():
        (directory / name).write_bytes(text.encode("utf-8", "backslashreplace"))
    (directory / RECORD).write_text(record_text(capture), encoding="utf-8")
    (directory / TIMES).write_text(times_text(capture), encoding="utf-8")
    for name, data in side_files(capture).items():
        (directory / name).write_bytes(data)
    if nodes:
        (directory / NODES).write_bytes(nodes_to_bytes(nodes))
    return directory


def guards(size: str) -> Tuple[Guard, ...]:
    """The guards of a version of toy."""
    where = "x = a / (torch.abs(a) + 1)  # work/toy.py:2 in toy"

    def tensor(name: str) -> Guard:
        call = f"TENSOR_MATCH({name}, 'torch.Tensor', dtype='torch.float32', size=[{size}])"
        return Guard("TENSOR_MATCH", f"check L['{name}']", where, call, f"L['{name}']")

    return (
        Guard("GLOBAL_STATE", "___check_global_state()", "", "GLOBAL_STATE({'grad_mode': True})"),
        tensor("a"),
        tensor("b"),
        Guard("ID_MATCH", "", where, "ID_MATCH(torch, 'module', kept_0_0[1])", "G['torch']"),
    )


def small(directory: Path, schema: int = 2, text: str = "", **more: object) -> Path:
    """Write a dump of a function that breaks and is compiled twice.

    Args:
        directory: where.
        schema: the version of the format that it says of itself.
        text: what stands at the end of a string in the graphs.
        more: changes of the capture.
    """
    files: Dict[str, str] = {"full_code_for_toy_0.py": _FULL.format(toy=TOY)}
    events: List[object] = []
    caches = []
    for i, size in enumerate(("10", "12")):
        key, slug = CompileKey(f"0/{i}"), f"0_{i}"
        values = {"key": key.id, "slug": slug, "toy": TOY, "size": size}
        names = {
            "captured": f"__compiled_fn_{slug}.captured.py",
            "forward": f"__compiled_fn_{slug}.forward.py",
            "inductor_forward": f"__compiled_fn_{slug}.inductor_forward.py",
        }
        kernel = f"__compiled_fn_{slug}.inductor_forward.cpp_fused_abs_add_div_0.cpp"
        code = f"__transformed_code_{slug}_for_toy.py"
        for stage in ("captured", "forward"):
            files[names[stage]] = _GRAPH.format(stage=stage, **values) + text
        files[names["inductor_forward"]] = _PROGRAM.format(**values)
        files[kernel] = _KERNEL.format(**values)
        files[code] = _CODE.format(**values)
        place = Place(TOY, 1, "toy")
        events.append(Started(key, place))
        if i:
            reasons = ("0/0: tensor 'a' size mismatch at index 0. expected 10, actual 12",)
            events.append(Recompile(key, reasons, failures_of(key, reasons)))
        events.append(break_of(key, _BREAK))
        events += [Graph(key, stage, name, "") for stage, name in names.items()]
        events.append(CacheUse(key, "fx_graph_cache", "miss"))
        events.append(KernelFile(key, "cpp_fused_abs_add_div_0", names["inductor_forward"], kernel))
        events.append(Frame(key, 0, place, None, Verdict("equivalent"), code, True))
        caches.append(CacheEntry(key, guards(size)))
    times = (
        Times(CompileKey("0/0"), False, {"duration": 2.0, "inductor_compile_time": 1.5}),
        Times(CompileKey("0/1"), False, {"duration": 1.0}),
    )
    write(directory, events, files, {0: tuple(caches[::-1])}, times=times, **more)
    if schema == 1:
        record = json.loads((directory / RECORD).read_text(encoding="utf-8"))
        for name in ("rank", "world_size", "process"):
            record.pop(name, None)
        record["schema"] = 1
        (directory / RECORD).write_text(json.dumps(record), encoding="utf-8")
    return directory


def large(directory: Path, lines: int, operations: int, count: int) -> Path:
    """Write a dump of some thousand lines: graphs of many operations, and many guards.

    Args:
        directory: where.
        lines: how many lines the files have together.
        operations: how many operations a graph has.
        count: how many guards the last version has.
    """
    files: Dict[str, str] = {}
    events: List[object] = []
    nodes: Dict[str, List[Node]] = {}
    spans = []
    source = "\n".join(f"    x{i} = layer_{i}(x{i - 1})" for i in range(2, 1000))
    written = compiled = 0
    caches: Dict[int, Tuple[CacheEntry, ...]] = {}
    while written < lines:
        key, slug = CompileKey(f"{compiled}/0"), f"{compiled}_0"
        place = Place("/home/someone/work/model.py", 1, f"forward_{compiled}")
        events.append(Started(key, place))
        previous = ""
        for stage in ("captured", "joint", "forward", "after_post_grad_forward"):
            name = f"__compiled_fn_{slug}.{stage}.py"
            text, made = _long_graph(stage, operations, compiled)
            files[name], nodes[name] = text, made
            events.append(Graph(key, stage, name, ""))
            written += text.count("\n")
            previous = name
        program = f"__compiled_fn_{slug}.inductor_forward.py"
        files[program] = _long_program(operations)
        written += files[program].count("\n")
        events.append(Graph(key, "inductor_forward", program, ""))
        code = f"__transformed_code_{slug}_for_forward_{compiled}.py"
        files[code] = f"def forward(x):\n    return __compiled_fn_{slug}(x)\n"
        events.append(Frame(key, compiled, place, None, Verdict("equivalent"), code, True))
        spans.append(Span(key, "compile", float(compiled), 0.9))
        many = tuple(
            Guard("EQUALS_MATCH", "", "", f"EQUALS_MATCH(v, {i})", f"L['self'].value_{i}")
            for i in range(count if compiled == 0 else 10)
        )
        caches[compiled] = (CacheEntry(key, many),)
        compiled += 1
        assert previous
    full = f"# {events[0].place.file}:1\ndef __original_forward(x):\n{source}\n"  # type: ignore[attr-defined]
    files["full_code_for_forward_0.py"] = full
    return write(directory, events, files, caches, nodes, spans=tuple(spans))


_SUITE = "/home/someone/work/suite.py"
_TEST = "def test_{0}(x):\n    y = x * {0}\n    torch._dynamo.graph_break()\n    return y + 1\n"
_ASKED = """\
Graph break in user code at {file}:{line}
Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call:

Call to `torch._dynamo.graph_break()`
  Explanation: User-inserted graph break. Message: None
"""


def many(directory: Path, count: int) -> Path:
    """Write a dump of so many functions of one file, each of which breaks once."""
    files: Dict[str, str] = {}
    events: List[object] = []
    caches: Dict[int, Tuple[CacheEntry, ...]] = {}
    for i in range(count):
        line = 5 * i + 1
        where = f"y = x * {i}  # work/suite.py:{line + 1} in test_{i}"
        for part, name in enumerate((f"test_{i}", f"torch_dynamo_resume_in_test_{i}_at_{line}")):
            key, number = CompileKey(f"{2 * i + part}/0"), 2 * i + part
            place = Place(_SUITE, line, name)
            graph, code = f"__compiled_fn_{number}_0.captured.py", f"__transformed_{number}.py"
            files[graph] = (
                f"def forward(x):\n    # File: {_SUITE}:{line + 1} in t\n    y = x * {i}\n"
            )
            files[code] = f"def {name}(x):\n    __compiled_fn_{number}_0(x)\n    __resume_{i}()\n"
            files[f"full_code_for_{name}_{number}.py"] = f"def {name}(x):\n    return {number}\n"
            events += [Started(key, place), Graph(key, "captured", graph, "")]
            if part == 0:
                events.append(break_of(key, _ASKED.format(file=_SUITE, line=line + 2)))
            parent = f"{2 * i}/0" if part else ""
            verdict = Verdict("equivalent")
            events.append(Frame(key, number, place, None, verdict, code, True, parent=parent))
            guard = Guard("TENSOR_MATCH", "", where, "TENSOR_MATCH(x)", "L['x']")
            caches[number] = (CacheEntry(key, (guard,)),)
    text = "\n".join(map(_TEST.format, range(count)))
    events.append(Source(_SUITE, text, ""))
    return write(directory, events, files, caches)


def _long_graph(stage: str, operations: int, compiled: int) -> Tuple[str, List[Node]]:
    lines = ["class GraphModule(torch.nn.Module):", "    def forward(self, L_x_):"]
    made = []
    shape = f"f32[{64 + compiled}, 128]"
    for i in range(operations):
        place = Place("/home/someone/work/model.py", 2 + i % 900, "forward")
        args = (f"op_{i - 1}",) if i else ()
        if i > 40 and i % 20 == 0:
            args = (*args, f"op_{i - 40}")
        if i % 5 == 0:
            lines += ["", f"        # File: {place.file}:{place.line} in forward, code: x = f(x)"]
        target = f"torch.ops.aten.{('mm', 'add', 'relu')[i % 3]}.default"
        lines.append(f'        op_{i}: "{shape}" = {target}({", ".join(args)})')
        module = ((f"self.layers.{i // 50}", "Layer"),)
        made.append(
            Node(
                f"op_{i}",
                "call_function",
                target,
                len(lines),
                place,
                (str(64 + compiled), "128"),
                "f32",
                "cpu",
                None,
                args,
                module,
            )
        )
    return "\n".join(lines) + "\n", made


def _long_program(operations: int) -> str:
    lines = ["def call(args):"]
    for i in range(0, operations, 10):
        names = ", ".join(f"op_{n}" for n in range(i, min(i + 10, operations)))
        lines += [
            f"    # Topologically Sorted Source Nodes: [{names}], Original ATen: []",
            f"    buf{i} = extern_kernels.mm(buf{i - 10}, weight_{i})",
            f"    del buf{i - 10}",
        ]
    return "\n".join(lines) + "\n"
