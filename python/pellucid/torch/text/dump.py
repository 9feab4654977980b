# SPDX-License-Identifier: Apache-2.0
"""Events to the text of the dumped files: pure functions, no torch.

File names (all stable from run to run; ``0_1`` is compile id 0/1):

========================================  ========================================================
``full_code_for_<function>_<frame>.py``   what torch does instead of the function: guards, versions
``__transformed_code_0_1_for_<f>.py``     one transformed version, the file that runs
``__compiled_fn_0_1.<stage>.py``          the graph that it calls, as each stage left it
``index.md``                              a path through all of these
``session.json``                          the same for programs
========================================  ========================================================
"""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections import Counter
from types import CodeType
from typing import Mapping, Sequence

from pellucid.brief import counted

from ..dynamo.closures import wrap
from ..dynamo.rewrite import Rewriting, disassembly
from ..model.events import Break, CompileKey, Frame, Graph, Place, Recompile, Verdict
from ..model.modules import module_tree, with_modules
from ..model.names import as_comment, identifier, label, scrub
from .graph_main import main_text

STAGES: Mapping[str, str] = {
    "pre_insert_deferred_runtime_asserts": "the graph before size checks are inserted",
    "captured": "the graph that Dynamo captured",
    "before_pre_grad": "the captured graph as Inductor receives it",
    "after_pre_grad": "the captured graph after Inductor's passes before autograd",
    "joint": "forward and backward in one graph, before they are split",
    "forward": "the forward graph, as AOTAutograd passes it to the backend",
    "backward": "the backward graph, as AOTAutograd passes it to the backend",
    "inference": "the graph without gradients, as AOTAutograd passes it to the backend",
    "before_joint_passes": "the graph before Inductor's passes over forward and backward at once",
    "after_joint_passes": "the graph after Inductor's passes over forward and backward at once",
    "before_post_grad": "the graph before Inductor's passes after autograd",
    "before_post_grad_forward": "the forward graph before Inductor's passes after autograd",
    "before_post_grad_backward": "the backward graph before Inductor's passes after autograd",
    "before_post_grad_inference": "the graph before Inductor's passes after autograd",
    "after_post_grad": "the graph from which Inductor generates code",
    "after_post_grad_forward": "the forward graph from which Inductor generates code",
    "after_post_grad_backward": "the backward graph from which Inductor generates code",
    "after_post_grad_inference": "the graph from which Inductor generates code",
    "tensorify_python_scalars": "the joint graph with Python's numbers as tensors",
    "compiled_autograd": "the backward pass that compiled autograd captured",
    "inductor_forward": "Inductor's output for the forward graph",
    "inductor_backward": "Inductor's output for the backward graph",
    "inductor_inference": "Inductor's output for the graph without gradients",
    "inductor": "Inductor's output",
    "precompiled": "the program that torch.compiler.precompile wrote",
    "inductor_aot_wrapper_code": "the C++ that AOTInductor wrote for a package",
    "inductor_aot_kernel_code": "the C++ kernels that AOTInductor wrote for a package",
    "inductor_aot_header_code": "the C++ header that AOTInductor wrote for a package",
}
_REGION = re.compile(r"\binvoke_subgraph\(\w+, '(\w+)'")
_NATIVE = re.compile(r"inductor_aot_\w+_code\Z")

WRAPPERS = "AOTAutograd's code around the graphs: mutated inputs, aliases, subclasses"

# What torch.fx prints by a bare name; the generated forward finds them in its own globals.
_GRAPH_IMPORTS = (
    "import torch\n"
    "from torch import device, inf, nan  # noqa: F401  names that torch.fx prints bare\n"
)
_DEF = re.compile(r"^(?:async )?def (\w+)\(", re.MULTILINE)
_UNNAMED_CLASS = re.compile(r"^class <\w*>\(", re.MULTILINE)


def is_python(text: str) -> bool:
    """Whether text compiles as a module.

    >>> is_python("x = 1"), is_python("x ="), is_python("nul \\0")
    (True, False, False)
    """
    return compiled(text) is not None


_HEAD = re.compile(r"\A(?:#[^\n\x0c\r]*\n)+")
_checked: dict[tuple[bytes, int], tuple[CodeType | None]] = {}


def compiled(text: str, futures: int = 0) -> CodeType | None:
    """The code of a module with this text, in no file; None when it does not compile.

    ``futures`` are the compiler flags of features that apply without a ``__future__`` import.
    """
    # A file is written again when it is known whether it runs; only its first comment is new then.
    head = _HEAD.match(text)
    body = text if head is None else "\n" * head[0].count("\n") + text[head.end() :]
    key = hashlib.sha1(body.encode("utf-8", "surrogatepass")).digest(), futures
    known = _checked.get(key)
    if known is None:
        if len(_checked) > 200:
            _checked.clear()  # by this thread or another, whenever it likes
        known = _checked[key] = (_compile(body, futures),)
    return known[0]


def _compile(text: str, futures: int) -> CodeType | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code: CodeType = compile(text, "<dump>", "exec", futures, dont_inherit=True)
            return code
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def without_imports(text: str) -> str:
    """A file without its lines that import.

    CPython compiles a method call on an imported name in another way; the text that torch itself
    compiles has no import, it finds ``torch`` in its globals.
    """
    return _IMPORT.sub("", text)


_IMPORT = re.compile(r"^(?:import|from) .*$", re.MULTILINE)


def valid(text: str) -> str:
    """Return text that compiles: as it is, or as comments under a line that says why."""
    if is_python(text):
        return text
    return "# What follows is not valid Python as torch prints it.\n" + as_comment(text) + "\n"


# -- transformed code ------------------------------------------------------------------------------


def transformed_name(key: CompileKey, function: str) -> str:
    """Name the file of one transformed version.

    >>> transformed_name(CompileKey("0/1"), "toy")
    '__transformed_code_0_1_for_toy.py'
    """
    return f"__transformed_code_{key.slug}_for_{identifier(function)}.py"


def transformed_text(
    key: CompileKey,
    place: Place,
    rewriting: Rewriting,
    breaks: Sequence[Break] = (),
    running: str = "",
    bytecode: bool = False,
    terms: Sequence[str] = (),
) -> str:
    """Make the file of one transformed version.

    ``running`` says which code runs and why when it is not the code of this file; empty means that
    this file is what runs.  Dynamo's bytecode is shown when it runs, or on demand (``bytecode``).
    ``terms`` explain names in the source.
    """
    what = f"{label(place.function)} · {place} · compile [{key}]"
    head = [f"{what} · {_proof(rewriting.verdict)}"]
    if running:
        head.append(f"NOT RUNNING from this file: {running}")
    else:
        head.append("This file is what runs: breakpoints set in it are hit.")
    for stop in breaks:
        if stop.title:
            head.append(f"graph break: {stop.title}")
    lines = [as_comment("\n".join([*head, "", *terms] if terms else head)), ""]
    if rewriting.source is not None:
        lines.append(_standing_alone(rewriting))
    if running or bytecode:
        which = ", which runs:" if running else ":"
        lines += ["", f"# Dynamo's bytecode{which}", as_comment(disassembly(rewriting.code))]
    text = "\n".join(lines) + "\n"
    return text if rewriting.verdict.proven else valid(text)  # what is proven has been compiled


def _standing_alone(rewriting: Rewriting) -> str:
    source = (rewriting.source or "").strip("\n")
    free, inner = rewriting.code.co_freevars, defined(source)
    if not free or inner is None or "nonlocal " not in source or is_python(source):
        return source
    return wrap(source, free, "closure", inner)


def defined(source: str) -> str | None:
    """The name of the function that a source defines.

    >>> defined("# f\\nasync def g(x):\\n    pass"), defined("x = 1")
    ('g', None)
    """
    found = _DEF.search(source)
    return found[1] if found else None


def _proof(verdict: Verdict) -> str:
    if verdict.proven:
        return f"proven {verdict.status}"
    reason = " ".join(verdict.reason.split())
    if verdict.status == "failed":
        return f"not decompiled: {reason}"
    return f"{verdict.status}: {reason}" if reason else verdict.status


# -- graphs ----------------------------------------------------------------------------------------


def graph_name(key: CompileKey, stage: str) -> str:
    """Name the file of one stage of a compiled graph.

    >>> graph_name(CompileKey("2/0"), "forward")
    '__compiled_fn_2_0.forward.py'
    """
    return f"__compiled_fn_{key.slug}.{stage}.{'cpp' if _NATIVE.match(stage) else 'py'}"


def kernel_name(program: str, kernel: str, suffix: str) -> str:
    """Name the file of a kernel.

    >>> kernel_name("__compiled_fn_0_0.inductor_forward.py", "cpp_fused_add_0", "cpp")
    '__compiled_fn_0_0.inductor_forward.cpp_fused_add_0.cpp'
    """
    return f"{program.rpartition('.')[0]}.{identifier(kernel)}.{suffix}"


def kernel_text(program: str, text: str, suffix: str) -> str:
    """Make the file of a kernel."""
    if suffix == "py":
        return valid(f"# From {program}, which runs it.\n{text.strip(chr(10))}\n")
    return f"// From {program}, which runs it.\n{text.strip(chr(10))}\n"


def named_class(text: str) -> str:
    """Give a printed graph's class a name that is one: torch.fx prints ``class <lambda>``.

    >>> named_class("class <lambda>(torch.nn.Module):")
    'class GraphModule(torch.nn.Module):'
    """
    return _UNNAMED_CLASS.sub("class GraphModule(", text, count=1)


def graph_text(graph: Graph, runs: bool = False) -> str:
    """Make the file of a graph or of generated code."""
    what = STAGES.get(graph.stage, graph.stage)
    head = f"compile [{graph.key}] · {what}"
    # Both heads have as many lines, so that what is compiled of one is good for the other.
    kind = "program" if graph.is_program else "graph"
    if runs:
        head += (
            f"\nWhen torch runs this {kind} as Python it runs from this file: breakpoints are hit."
        )
    else:
        head += f"\nFor reading: torch does not run this {kind} from this file."

    for region, calls in Counter(_REGION.findall(graph.text)).items():
        if calls > 1:
            head += f"\nOne graph, {region}, is called {calls} times in it."
    if graph.metadata:
        head += "".join(f"\n{name}: {json.dumps(v)}" for name, v in graph.metadata.items())
    body = graph.text.strip("\n")
    if _NATIVE.match(graph.stage):
        return f"// compile [{graph.key}] · {what}\n{body}\n"
    if graph.is_program:
        return valid(f"{as_comment(head)}\n{body}\n")
    needs = graph.needs
    imports = _GRAPH_IMPORTS + "".join(f"{line}\n" for line in (needs.imports if needs else ()))
    top = f"{as_comment(head)}\n{imports}\n\n"
    if needs is not None:
        modules = dict(needs.modules)
        tree = f"\n\n{as_comment(module_tree(modules))}\n" if modules else ""
        printed = scrub(with_modules(body, modules))
        whole = f"{top}{printed}\n{tree}{main_text(body, needs)}"
        if is_python(without_imports(whole)):
            return whole
    return valid(f"{top}{scrub(body)}\n")


def wrappers_text(key: CompileKey, parts: Sequence[tuple[str, str]]) -> str:
    """Make the file of the functions that AOTAutograd generates around the graphs of a compile."""
    head = f"compile [{key}] · {WRAPPERS}\nFor reading: torch binds the names that are not defined."
    functions = (f"\n\n# {name}\n{scrub(text)}\n" for name, text in parts)
    return valid(f"{as_comment(head)}\n{''.join(functions)}")


# -- summary lines shared by index.md and full code ------------------------------------------------


def frame_status(frame: Frame) -> str:
    """Say in a few words what a frame's verdict is and what runs."""
    if frame.before:
        return f"{frame.verdict.status}, compiled before the capture: Dynamo's code runs"
    runs = "runs from its file" if frame.swapped else "Dynamo's code runs"
    return ", ".join(filter(None, (frame.verdict.status, WAYS.get(frame.way, frame.way), runs)))


WAYS = {
    "ahead of time": "compiled ahead of time",
    "loaded": "loaded from a file",
    "package": "loaded from PyTorch's cache",
    "export": "exported",
}
"""How code came that Dynamo did not make for a call."""


def only_graphs(number: int, inside: str) -> str:
    """Say that graphs were compiled and no function was.

    >>> only_graphs(2, "this capture")
    '2 graphs were compiled inside this capture, but no function'
    """
    were = "was" if number == 1 else "were"
    return f"{counted(number, 'graph')} {were} compiled inside {inside}, but no function"


_OF_GUARD = re.compile(r"(?P<check>.*?)\s+# (?P<code>.*?)\s+# \S*?(?P<place>[^\s/\\]+:\d+) in \S+")


def recompile_lines(recompiles: Sequence[Recompile]) -> list[str]:
    """One line a guard that failed: the check, and the user's line that it is for."""
    return [
        f"[{event.key}] {scrub(_guard(reason))}" for event in recompiles for reason in event.reasons
    ]


def _guard(reason: str) -> str:
    """A guard in torch's words, with where it is from told once and its path not cut.

    >>> _guard("0/0: n == 1   # if n > 0:  # ork/app/model.py:15 in f\\nUser stack trace:\\n ...")
    '0/0: n == 1 · model.py:15  if n > 0:'
    """
    first = reason.partition("\n")[0]
    found = _OF_GUARD.fullmatch(first)
    if found is None:
        return " ".join(reason.split())
    return f"{found['check']} · {found['place']}  {found['code']}"
