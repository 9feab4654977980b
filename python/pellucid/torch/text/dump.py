# SPDX-License-Identifier: Apache-2.0
"""From events to the text of the dumped files: pure functions, no torch.

File names (the same in every run; ``0_1`` is compile id 0/1):

========================================  ========================================================
``full_code_for_<function>_<frame>.py``   what torch runs instead of the function: guards, versions
``__transformed_code_0_1_for_<f>.py``     one transformed version, the file that runs
``__compiled_fn_0_1.<stage>.py``          the graph that it calls, after each stage
``index.md``                              an overview of all of these
``session.json``                          the same for programs
========================================  ========================================================
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import warnings
from collections import Counter
from types import CodeType
from typing import Mapping, Sequence

from pellucid.brief import counted
from pellucid.dump.model.events import Break, CompileKey, Frame, Graph, Place, Recompile, Verdict
from pellucid.dump.model.modules import module_tree, with_modules
from pellucid.dump.model.names import as_comment, identifier, label, scrub
from pellucid.dump.model.needs import Needs

from ..dynamo.closures import wrap
from ..dynamo.rewrite import Rewriting, disassembly
from .graph_main import Comparison, main_text

STAGES: Mapping[str, str] = {
    "pre_insert_deferred_runtime_asserts": "the graph before size checks are inserted",
    "captured": "the graph that Dynamo captured",
    "exported": "the graph of the exported program",
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
# A pattern that begins with plain text is found fast; the boundary is checked after it.
_REGION = re.compile(r"invoke_subgraph(?<!\winvoke_subgraph)\(\w+, '(\w+)'")
_NATIVE = re.compile(r"inductor_aot_\w+_code\Z")

WRAPPERS = "AOTAutograd's code around the graphs: mutated inputs, aliases, subclasses"

# Names that torch.fx prints bare; the generated forward finds them in its own globals.
_GRAPH_IMPORTS = (
    "import torch\n"
    "from torch import device, inf, nan  # noqa: F401  names that torch.fx prints bare\n"
)
_DEF = re.compile(r"^(?:async )?def (\w+)\(", re.MULTILINE)
_UNNAMED_CLASS = re.compile(r"^class <\w*>\(", re.MULTILINE)


def is_python(text: str) -> bool:
    """Return true if text compiles as a module.

    >>> is_python("x = 1"), is_python("x ="), is_python("nul \\0")
    (True, False, False)
    """
    return compiled(text) is not None


_HEAD = re.compile(r"\A(?:#[^\n\x0c\r]*\n)+")
_checked: dict[tuple[bytes, int], tuple[CodeType | None]] = {}


def compiled(text: str, futures: int = 0) -> CodeType | None:
    """Return the code of a module with this text, without a file; None if it does not compile.

    ``futures`` are the compiler flags of features that apply without a ``__future__`` import.
    """
    # A file is written again once it is known whether it runs; then only its first comment changes.
    head = _HEAD.match(text)
    body = text if head is None else "\n" * head[0].count("\n") + text[head.end() :]
    key = hashlib.sha1(body.encode("utf-8", "surrogatepass")).digest(), futures
    known = _checked.get(key)
    if known is None:
        if len(_checked) > 200:
            _checked.clear()  # any thread may clear it at any time
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
    """Return a file without its import lines.

    CPython compiles a method call on an imported name differently; the text that torch itself
    compiles has no imports, since ``torch`` is in its globals.
    """
    return _IMPORT.sub("", text)


_IMPORT = re.compile(r"^(?:import|from) .*$", re.MULTILINE)


def valid(text: str) -> str:
    """Return text that compiles: unchanged, or as comments below an explanation."""
    if is_python(text):
        return text
    return "# torch prints this text, which is not valid Python.\n" + as_comment(text) + "\n"


RUNS = "# This file is what runs: breakpoints set in it are hit."
"""The line in the head of a transformed file that runs."""


# -- transformed code ------------------------------------------------------------------------------


def transformed_name(key: CompileKey, function: str) -> str:
    """Return the file name of one transformed version.

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
    """Return the text of the file of one transformed version.

    ``running`` says which code runs and why if it is not the code of this file; empty if this file
    runs.  Dynamo's bytecode is included if it runs, or on request (``bytecode``).  ``terms``
    explain names in the source.
    """
    what = f"{label(place.function)} · {place} · compile [{key}]"
    head = [f"{what} · {_proof(rewriting.verdict)}"]
    if running:
        head.append(f"NOT RUNNING from this file: {running}")
    else:
        head.append(RUNS[2:])
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
    return text if rewriting.verdict.proven else valid(text)  # proven source has been compiled


def _standing_alone(rewriting: Rewriting) -> str:
    source = (rewriting.source or "").strip("\n")
    free, inner = rewriting.code.co_freevars, defined(source)
    if not free or inner is None or "nonlocal " not in source or is_python(source):
        return source
    return wrap(source, free, "closure", inner)


def defined(source: str) -> str | None:
    """Return the name of the function that a source defines.

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
    """Return the file name of one stage of a compiled graph.

    >>> graph_name(CompileKey("2/0"), "forward")
    '__compiled_fn_2_0.forward.py'
    """
    return f"__compiled_fn_{key.slug}.{stage}.{'cpp' if _NATIVE.match(stage) else 'py'}"


def kernel_name(program: str, kernel: str, suffix: str) -> str:
    """Return the file name of a kernel.

    >>> kernel_name("__compiled_fn_0_0.inductor_forward.py", "cpp_fused_add_0", "cpp")
    '__compiled_fn_0_0.inductor_forward.cpp_fused_add_0.cpp'
    """
    return f"{program.rpartition('.')[0]}.{identifier(kernel)}.{suffix}"


def kernel_text(program: str, text: str, suffix: str) -> str:
    """Return the text of a kernel's file."""
    if suffix == "py":
        return valid(f"# From {program}, which runs it.\n{text.strip(chr(10))}\n")
    return f"// From {program}, which runs it.\n{text.strip(chr(10))}\n"


def named_class(text: str) -> str:
    """Rename a printed graph's class if its name is not valid: torch.fx prints ``class <lambda>``.

    >>> named_class("class <lambda>(torch.nn.Module):")
    'class GraphModule(torch.nn.Module):'
    """
    if "class <" not in text:
        return text
    return _UNNAMED_CLASS.sub("class GraphModule(", text, count=1)


def graph_text(graph: Graph, runs: bool = False) -> str:
    """Return the text of a file with a graph or a generated program."""
    what = STAGES.get(graph.stage, graph.stage)
    head = f"compile [{graph.key}] · {what}"
    # Both headers have the same number of lines, so code compiled with one is valid for the other.
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
        whole = top + _running(body, needs)
        if is_python(without_imports(whole)):
            return whole
    return valid(f"{top}{scrub(body)}\n")


def comparison_text(head: str, body: str, needs: Needs, comparison: Comparison) -> str:
    """Return a program that compares a graph, compiled, with eager."""
    imports = ["import pathlib"] if comparison.stored else []
    imports += ["import sys"] if comparison.folders else []
    imports += [""] if imports else []
    top = "\n".join([as_comment(head), *imports, _GRAPH_IMPORTS, *needs.imports])
    return f"{top}\n\n{_running(body.strip(chr(10)), needs, comparison)}"


@functools.lru_cache(maxsize=1)  # most stages leave a graph unchanged
def _running(body: str, needs: Needs, comparison: Comparison | None = None) -> str:
    """Return a printed graph with its modules, its inputs and a ``main``."""
    modules = dict(needs.modules)
    tree = f"\n\n{as_comment(module_tree(modules))}\n" if modules else ""
    return f"{scrub(with_modules(body, modules))}\n{tree}{main_text(body, needs, comparison)}"


def wrappers_text(key: CompileKey, parts: Sequence[tuple[str, str]]) -> str:
    """Return the text of the file with AOTAutograd's functions around the graphs of a compile."""
    head = f"compile [{key}] · {WRAPPERS}\nFor reading: torch binds the names that are not defined."
    functions = (f"\n\n# {name}\n{scrub(text)}\n" for name, text in parts)
    return valid(f"{as_comment(head)}\n{''.join(functions)}")


# -- summary lines shared by index.md and full code ------------------------------------------------


def frame_status(frame: Frame) -> str:
    """Return a frame's verdict and what runs, in a few words."""
    if frame.before:
        return f"{frame.verdict.status}, compiled before the capture: Dynamo's code runs"
    runs = "runs from its file" if frame.swapped else "Dynamo's code runs"
    runs = "" if frame.way in SAVED else runs
    return ", ".join(filter(None, (frame.verdict.status, WAYS.get(frame.way, frame.way), runs)))


WAYS = {
    "ahead of time": "compiled ahead of time",
    "loaded": "loaded from a file",
    "package": "loaded from PyTorch's cache",
    "export": "exported",
    "saved": "read from a saved function",
    "saved package": "read from a saved package",
}
"""The origins of code that Dynamo did not generate for a call."""
SAVED = ("saved", "saved package")
"""Those of code that was read from a file without loading it."""


def only_graphs(number: int, inside: str) -> str:
    """Return the sentence for graphs that were compiled without a function.

    >>> only_graphs(2, "this capture")
    '2 graphs were compiled inside this capture, but no function'
    """
    were = "was" if number == 1 else "were"
    return f"{counted(number, 'graph')} {were} compiled inside {inside}, but no function"


_OF_GUARD = re.compile(r"(?P<check>.*?)\s+# (?P<code>.*?)\s+# \S*?(?P<place>[^\s/\\]+:\d+) in \S+")


def recompile_lines(recompiles: Sequence[Recompile]) -> list[str]:
    """Return one line per failed guard: the check, and the user's line that caused it."""
    return [
        f"[{event.key}] {scrub(_guard(reason))}" for event in recompiles for reason in event.reasons
    ]


def _guard(reason: str) -> str:
    """Return a guard in torch's words, with its place once and without a truncated path.

    >>> _guard("0/0: n == 1   # if n > 0:  # ork/app/model.py:15 in f\\nUser stack trace:\\n ...")
    '0/0: n == 1 · model.py:15  if n > 0:'
    """
    first = reason.partition("\n")[0]
    found = _OF_GUARD.fullmatch(first)
    if found is None:
        return " ".join(reason.split())
    return f"{found['check']} · {found['place']}  {found['code']}"
