"""Compiled code that comes past Dynamo's hook is in the dump, with all that it has."""

import subprocess
import textwrap

import pytest
from pellucid import load
from pellucid.dump.model.events import Frame, Graph, Started
from pellucid.findings import find
from pellucid.findings.text import explanation
from support import run_env, torch_version, warm_python

pytestmark = pytest.mark.skipif(
    torch_version() < (2, 12), reason="this torch has no aot_compile with a public save and load"
)

# What ran, found with nothing of the capture's: code that calls what Dynamo has compiled.
ORACLE = """
import sys
RAN = set()
def seen(frame, event, argument):
    code = frame.f_code
    if event == "call" and "\\0__compiled_fn_" in "\\0".join(("", *code.co_names)):
        RAN.add(code.co_filename)
def watch(function, *arguments):
    sys.setprofile(seen)
    try:
        return function(*arguments)
    finally:
        sys.setprofile(None)
"""
SAVED = """
import torch
def poly(x):
    return (x * x + 3 * x - 1).relu()
def compiled():
    return torch.compile(poly, fullgraph=True, backend=BACKEND).aot_compile(((torch.ones(6),), {}))
def loaded(path):
    with open(path, "rb") as stream:
        return torch.compiler.load_compiled_function(stream, f_globals=globals())
"""
AHEAD = """
with pellucid.prepare_debug("dump"):
    f = compiled()
    print(watch(f, torch.ones(6)).tolist())
"""
SAVE = """
compiled().save_compiled_function("poly.aot")
"""
LOAD = """
with pellucid.prepare_debug("dump"):
    f, g = loaded("poly.aot"), loaded("poly.aot")
    print(watch(f, torch.ones(6)).tolist(), watch(g, torch.ones(6)).tolist())
pellucid.open_artifact("poly.aot", "opened")
import glob, runpy
failing = runpy.run_path(sorted(glob.glob("dump/full_code_for_*.py"))[0])["guards_L0_0"].failing
right, wrong = (failing({"x": torch.ones(n)}, {}) for n in (6, 7))
print(f"holds: {right}, and of another size: {wrong.kind}")
"""
BEFORE = """
f = compiled()
with pellucid.prepare_debug("dump"):
    print(watch(f, torch.ones(6)).tolist())
RAN.clear()
"""
PACKAGE = """
import torch
torch._dynamo.config.caching_precompile = True
def halves(x):
    y = torch.relu(x) - 1
    print("between")
    return (y * 5).sum()
def run():
    f = torch.compile(halves)
    return float(f(torch.ones(6))), float(f(torch.ones(9)))
"""
FILL = """
print(run())
from torch._dynamo.precompile_context import PrecompileContext
PrecompileContext.save_to_dynamo_cache()
"""
ASKED = """
f = compiled()
print(pellucid.find_difference(f, torch.ones(6)))
print(pellucid.find_nan(f, torch.tensor([1, 1, 1, 1, 1, float("inf")])))
"""
WARM = """
with pellucid.prepare_debug("dump"):
    print(watch(run))
"""
FAILS = """
import torch, contextlib
def scaled(x, scale):
    return x * scale
with pellucid.prepare_debug("dump"):
    compiled = torch.compile(scaled, fullgraph=True, backend="eager")
    f = compiled.aot_compile(((torch.ones(6), 2.0), {}))
    for arguments in ((torch.ones(6), 2.0), (torch.ones(7), 2.0), (torch.ones(6), 3.0)):
        with contextlib.suppress(RuntimeError):
            f(*arguments)
"""
FAILS_BEFORE = """
import torch, contextlib
def scaled(x, scale):
    return x * scale
compiled = torch.compile(scaled, fullgraph=True, backend="eager")
f = compiled.aot_compile(((torch.ones(6), 2.0), {}))
with pellucid.prepare_debug("dump"):
    for size in (6, 7):
        with contextlib.suppress(RuntimeError):
            f(torch.ones(size), 2.0)
"""
DROPS = """
import torch
SCALE = 2.0
def helper(x):
    return x * SCALE
def scaled(x):
    return helper(x).relu()
def one(x):
    return x + SCALE
with pellucid.prepare_debug("dump"):
    torch.compile(scaled, fullgraph=True, backend="eager").aot_compile(((torch.ones(6),), {}))
    with torch._dynamo.config.patch(caching_precompile=True):
        torch.compile(scaled, backend="eager")(torch.ones(6))
    kept = lambda guards: ["SCALE" not in guard.name for guard in guards]
    torch.compile(one, backend="eager", options={"guard_filter_fn": kept})(torch.ones(6))
"""
EXPORTS = """
import torch
from torch._dynamo.functional_export import dynamo_graph_capture_for_export
def pair(x, y):
    return x + y, (x * y).sum()
with pellucid.prepare_debug("dump"):
    one, _ = torch._dynamo.export(pair)(torch.ones(2), torch.ones(2))
    two = dynamo_graph_capture_for_export(pair)(torch.ones(2), torch.ones(2))
    print([watch(g, torch.ones(2), torch.ones(2))[1].item() for g in (one, two)])
"""
REGION = """
import torch
@torch.compiler.nested_compile_region
def layer(x):
    return torch.sin(x) * 1.5
@torch.compile(backend="eager")
def stack(x):
    for _ in range(3):
        x = layer(x)
    return x
with pellucid.prepare_debug("dump"):
    stack(torch.ones(4))
"""
GRAPHS = """
import torch
from functorch.compile import aot_function, nop
with pellucid.prepare_debug("dump"):
    x = torch.ones(3, requires_grad=True)
    aot_function(lambda x: (x * 2).sin(), fw_compiler=nop, bw_compiler=nop)(x).sum().backward()
"""


@pytest.fixture
def run(torch, tmp_path, monkeypatch):
    """Run a program in a process of its own; return its dump and what is said on standard error."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))

    def start(*parts, backend="inductor"):
        text = f"import pellucid\nBACKEND = {backend!r}\n{ORACLE}" + "".join(parts)
        text += '\nimport pathlib; pathlib.Path("ran").write_text("\\n".join(RAN))\n'
        (tmp_path / "program.py").write_text(textwrap.dedent(text))
        done = subprocess.run(
            [warm_python(), "program.py"],
            cwd=tmp_path,
            env=run_env(),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        dump = tmp_path / "dump"
        ran = {name for name in (tmp_path / "ran").read_text().split("\n") if name}
        return (load(dump) if dump.exists() else None), ran, done.stdout + done.stderr

    return start


def check(capture, ran, way, number):
    """Each frame that ran is in the dump, runs from its file, and has guards and a graph."""
    frames = capture.of(Frame)
    assert [frame.way for frame in frames] == [way] * number
    assert {frame.key for frame in frames} == {started.key for started in capture.of(Started)}
    assert all(frame.verdict.proven and frame.swapped for frame in frames)
    assert ran == {str(capture.directory / frame.file) for frame in frames}
    guards = {entry.key: entry.guards for all in capture.caches.values() for entry in all}
    assert all(guards[frame.key] for frame in frames)
    graphs = {graph.key for graph in capture.of(Graph)}
    assert {frame.key for frame in frames} <= graphs
    assert None not in {key.id for key in graphs}


@pytest.mark.parametrize(
    "backend", ["inductor", pytest.param("aot_eager", marks=pytest.mark.thorough)]
)
def test_what_is_compiled_ahead_of_time(run, backend):
    capture, ran, said = run(SAVED, AHEAD, backend=backend)
    check(capture, ran, "ahead of time", 1)
    assert capture.of(Frame)[0].key.id == "0/0"
    assert "RuntimeWarning: pellucid" not in said


def test_what_is_loaded_from_a_file(run):
    run(SAVED, SAVE)
    capture, ran, said = run(SAVED, LOAD)
    check(capture, ran, "loaded", 2)
    assert [frame.key.id for frame in capture.of(Frame)] == ["L0/0", "L1/0"]
    assert {span.key.id for span in capture.spans} == {"L0/0", "L1/0"}
    # The same guards, read without loading the function.
    opened = load(capture.directory.parent / "opened")
    (read,), (loaded, _) = (
        [entry for entries in each.caches.values() for entry in entries]
        for each in (opened, capture)
    )
    assert [(g.kind, g.source) for g in read.guards] == [(g.kind, g.source) for g in loaded.guards]
    assert opened.of(Frame)[0].source == capture.of(Frame)[0].source
    assert "1 of 1 line compiled" in explanation([capture], find(capture))
    assert all("  return (x * x" in capture.text(f.file) for f in capture.of(Frame))
    # The guards of a file say what torch's say, though they were made in another process.
    assert "holds: None, and of another size: TENSOR_MATCH" in said


def test_what_was_compiled_ahead_before_the_capture(run):
    capture, _, said = run(SAVED, BEFORE)
    (frame,) = capture.of(Frame)
    assert frame.before and frame.verdict.proven and not frame.swapped
    assert [bool(entry.guards) for entries in capture.caches.values() for entry in entries] == [
        True
    ]
    assert "nothing was compiled" not in said


def test_functions_compiled_ahead_of_time_are_looked_into(run):
    _, _, said = run(SAVED, ASKED)
    assert "no difference between eager and the compiled code that ran" in said
    assert "compiled ahead of time" in said
    assert "program.py" in said and "nothing was compiled" not in said


def test_a_guard_that_fails_in_a_call_is_a_finding(run):
    capture, _, _ = run(FAILS)
    size, number = (f for f in find(capture) if f.kind == "guard")
    assert "`x.size(0)` changed from 6 to 7" in size.cause and "`scaled`" in size.cause
    assert "mark_dynamic(x, 0)" in size.remedy and size.place.file.endswith("program.py")
    assert "`scale` changed: it was 2.0" in number.cause and "as a tensor" in number.remedy
    assert capture.text("program.py") == "" and size.code.strip() == "f(*arguments)"


def test_a_guard_of_what_was_compiled_before_the_capture_fails(run):
    capture, _, _ = run(FAILS_BEFORE)
    (size,) = (f for f in find(capture) if f.kind == "guard")
    assert "`x.size(0)` changed from 6 to 7" in size.cause and "`scaled`" in size.cause


def test_guards_that_are_left_out_are_named(run):
    capture, _, _ = run(DROPS)
    found = {f.cause.split("`")[1]: f for f in find(capture) if f.kind == "unguarded"}
    ahead, cached = (found[by] for by in ("aot_compile", "caching_precompile"))
    assert "`SCALE`" in ahead.cause and "as an argument" in ahead.remedy
    assert "`helper`: " in cached.cause and "torch._dynamo.reset()" in cached.remedy
    (own,) = (f for f in find(capture) if f.kind == "filtered")
    assert "drops 1 of" in own.cause and "of `one`" in own.cause and "`SCALE`" in own.cause


def test_what_a_package_installs(run):
    cold, _, _ = run(PACKAGE, FILL)
    assert cold is None
    capture, ran, said = run(PACKAGE, WARM)
    frames = capture.of(Frame)
    assert len(frames) >= 2 and {frame.way for frame in frames} == {"package"}
    assert len({frame.key for frame in frames}) == len(frames)
    outer = {frame.key.id for frame in frames if not frame.parent}
    assert {frame.parent for frame in frames if frame.key.id not in outer} <= outer
    assert len(outer) == len(frames) / 2  # each version has one resume function
    assert {frame.key for frame in frames} == {graph.key for graph in capture.of(Graph)}
    assert capture.text("index.md").count("PyTorch loaded this and did not repeat") == len(frames)
    assert ran <= {str(capture.directory / frame.file) for frame in frames} and ran
    assert "RuntimeWarning: pellucid" not in said


def test_the_code_around_an_exported_graph_is_shown_and_runs(run):
    capture, ran, said = run(EXPORTS)
    assert "[2.0, 2.0]" in said and "RuntimeWarning: pellucid" not in said
    old, new = capture.of(Frame)
    assert (old.way, new.way) == ("export", "export") and new.verdict.proven
    assert ran == {str(capture.directory / new.file)}
    assert {graph.key for graph in capture.of(Graph)} == {old.key, new.key}
    (full,) = (capture.text(name) for name in capture.files if name.startswith("full_code_"))
    assert full.count("an export, which checks no guards") == 2
    assert "exported" in capture.text("index.md")


def test_a_region_that_is_called_several_times_says_so(run):
    capture, _, _ = run(REGION)
    (graph,) = (graph for graph in capture.of(Graph) if graph.stage == "captured")
    assert "# One graph, subgraph_0, is called 3 times in it.\n" in capture.text(graph.file)


def test_graphs_without_a_function_are_not_called_nothing(run):
    capture, _, said = run(GRAPHS)
    assert not capture.of(Frame) and capture.of(Graph)
    assert "1 graph was compiled inside prepare_debug, but no function" in said
    index = (capture.directory / "index.md").read_text()
    assert "Nothing was compiled" not in index and "## Graphs without a function" in index
