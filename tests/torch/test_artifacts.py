"""`pellucid open`: compiled code that torch saved becomes a capture; nothing in it runs."""

import base64
import contextlib
import dataclasses
import json
import marshal
import pickle
import re
import runpy
import sys
import zipfile
from pathlib import Path
from types import CodeType
from typing import Any, Dict, List

import pellucid
import pytest
import torch
from artifact_files import PROGRAM, bundle, problems, saved
from pellucid import events
from pellucid.findings import find
from pellucid.pickle_tree import Tree
from pellucid.torch.artifacts import foreign
from pellucid.torch.artifacts.sources import source_of
from support import compiles, torch_version

RELEASES = ("2.13", "2.15")
GUARDS = [
    "LAMBDA_GUARD",
    "GLOBAL_STATE",
    "TORCH_FUNCTION_MODE_STACK",
    "DEFAULT_DEVICE",
]


@pytest.fixture(scope="module", params=RELEASES)
def function(request: Any, tmp_path_factory: Any) -> "tuple[str, pellucid.Capture]":
    folder = tmp_path_factory.mktemp("function")
    (folder / "gate.aot").write_bytes(saved(f"function-{request.param}"))
    pellucid.open_artifact(folder / "gate.aot", folder / "dump")
    return request.param, pellucid.load(folder / "dump")


@pytest.fixture(scope="module")
def package(tmp_path_factory: Any) -> pellucid.Capture:
    folder = tmp_path_factory.mktemp("package")
    (folder / "cache").mkdir()
    (folder / "cache" / "entry").write_bytes(saved("package-2.13"))
    (folder / "cache" / "lock").write_bytes(b"")
    pellucid.open_artifact(folder / "cache", folder / "dump")
    return pellucid.load(folder / "dump")


# --- what is in a saved function ------------------------------------------------------------------


def test_its_frame_is_proven_source(function: Any) -> None:
    _, capture = function
    (frame,) = capture.of(pellucid.Frame)
    assert problems(capture) == []
    assert str(frame.key) == "L0/0" and frame.way == "saved"
    assert (frame.place.file, frame.place.line, frame.place.function) == ("saved.py", 7, "gate")
    assert frame.verdict.proven
    text = capture.text(frame.file)
    assert "__compiled_fn_L0_0(x)[0]" in text and "nothing in it has run" in text
    assert 'x = x * options["scale"] + len(' in text  # the user's line is in the artifact


def test_its_guards_are_python_that_decides(function: Any) -> None:
    release, capture = function
    ((entry,),) = capture.caches.values()
    assert [guard.kind for guard in entry.guards[:4]] == GUARDS
    decided = {guard.kind for guard in entry.guards if guard.expression is not None}
    assert {"TENSOR_MATCH", "EQUALS_MATCH", "TYPE_MATCH", "LENGTH_CHECK"} <= decided
    assert all(guard.place is None or guard.place.file == "saved.py" for guard in entry.guards)
    if not torch.__version__.startswith(release):
        return  # another torch has other settings in its state
    scope = runpy.run_path(str(capture.directory / "full_code_for_gate_L0.py"))
    guards, options = scope["guards_L0_0"], {"scale": 2.0, "names": ["a", "b"]}
    threads = torch.get_num_threads()
    with torch.no_grad():
        torch.set_num_threads(next(_threads(entry)))

        def failing(x: Any, limit: Any, given: Any) -> str:
            found = guards.failing({"x": x, "limit": limit, "options": given}, {})
            return "" if found is None else str(found.kind or found.source)

        try:
            assert failing(torch.ones(4, 3), 7, options) == ""
            assert failing(torch.ones(5, 3), 7, options) == "TENSOR_MATCH"
            assert failing(torch.ones(4, 3).double(), 7, options) == "TENSOR_MATCH"
            assert failing(torch.ones(4, 3), 8, options) == "EQUALS_MATCH"
            assert failing(torch.ones(4, 3), 7, {**options, "scale": 3.0}) == "EQUALS_MATCH"
            assert failing(torch.ones(4, 3), 7, {**options, "names": ["a"]}) == "LENGTH_CHECK"
            assert failing(torch.ones(4, 3), 7, {"scale": 2.0}) != ""
        finally:
            torch.set_num_threads(threads)
    with torch.enable_grad():
        assert failing(torch.ones(4, 3), 7, options) == "GLOBAL_STATE"


def _threads(entry: Any) -> Any:
    """Yield the number of threads that a guard on the state of the process expects."""
    for guard in entry.guards:
        if guard.kind == "GLOBAL_STATE":
            yield json.loads(guard.text.partition(" against ")[2])["num_threads"]


def test_its_graphs_and_kernels_are_text(function: Any) -> None:
    _, capture = function
    stages = [graph.stage for graph in capture.of(pellucid.Graph)]
    assert stages == ["inference", "after_post_grad_inference", "inductor_inference"]
    (kernel,) = capture.of(events.KernelFile)
    assert "extern" in capture.text(kernel.file) and kernel.calls
    assert [compiles(path) for path in capture.directory.glob("*.py")] == [""] * 5


def test_the_page_and_the_findings_are_those_of_a_capture(function: Any) -> None:
    _, capture = function
    assert [finding.kind for finding in find(capture)] == []
    assert (capture.directory / "page.html").stat().st_size > 10_000
    (source,) = capture.of(events.Source)
    assert source.text == PROGRAM.read_text(encoding="utf-8")
    (artifact,) = capture.of(events.Artifact)
    assert (artifact.name, artifact.kind.split()[:2]) == ("gate.aot", ["a", "function"])
    assert any("guards that torch dropped" in each for each in artifact.lacks)
    assert "Read from `gate.aot`" in capture.text("index.md")
    assert capture.versions["torch"].startswith(RELEASES)


# What a source needs: its fields that have no default.
FIELDS = {
    "local_name": "x",
    "global_name": "g",
    "member": "cell_contents",
    "index": 3,
    "idx": 1,
    "idx_key": 0,
    "ind": 0,
    "is_int": True,
}
# Those that no guard is about, and one that only a trace can make.
UNGUARDED = {
    "ChainedSource",
    "RandomValueSource",
    "EphemeralSource",
    "ConstantSource",
    "ImportSource",
    "NonSerializableSetGetItemSource",  # is in no artifact
}


@pytest.mark.skipif(torch_version() < (2, 13), reason="this torch writes its sources in other ways")
def test_sources_have_torchs_texts() -> None:
    import torch._dynamo.source as sources
    from torch._guards import Source

    base = sources.AttrSource(sources.LocalSource("self"), "0")
    key = sources.ConstDictKeySource(base, 2)
    made = [sources.TensorPropertySource(base, each, n) for n, each in enumerate(_properties())]
    made += [sources.DefaultsSource(base, "k", is_kw=True), sources.DictGetItemSource(base, key)]
    made += [sources.GetItemSource(base, slice(1, None)), sources.DictGetItemSource(base, "a{b")]
    for cls in vars(sources).values():
        if not isinstance(cls, type) or not issubclass(cls, Source) or cls.__name__ in UNGUARDED:
            continue
        fields = [field for field in dataclasses.fields(cls) if field.init]
        needed = [f.name for f in fields if f.default is dataclasses.MISSING]
        if {*needed} <= {"base", *FIELDS}:
            made.append(cls(**{name: FIELDS.get(name, base) for name in needed}))
    assert len(made) > 40
    texts = {}
    for source in made:
        with contextlib.suppress(NotImplementedError):  # it cannot be guarded on
            texts[type(source).__name__, source.name] = source_of(Tree(pickle.dumps(source)).root)
    assert {(cls, found.text) for (cls, _), found in texts.items()} == set(texts)


def _properties() -> Any:
    from torch._dynamo.source import TensorProperty

    return [TensorProperty.SIZE, TensorProperty.STRIDE]


# --- the other kinds ------------------------------------------------------------------------------


def test_a_package_has_each_version_of_each_function(package: pellucid.Capture) -> None:
    assert problems(package) == []
    frames = package.of(pellucid.Frame)
    assert [str(frame.key) for frame in frames] == ["L0/0", "L0/1", "L1/0", "L1/1"]
    assert all(frame.verdict.proven for frame in frames)
    assert {frame.parent for frame in frames[2:]} == {"L0/1"}  # the last that calls it
    assert any(link.kind == "resume" for link in frames[0].links)
    sizes = [guard.text for entry in package.caches[0] for guard in entry.guards]
    assert any("size=[6]" in text for text in sizes) and any("size=[None]" in t for t in sizes)
    assert any(">= 2" in text or "2 <=" in text for text in sizes)  # the shape guard


def test_a_package_of_another_python_is_read(tmp_path: Path) -> None:
    (tmp_path / "entry").write_bytes(saved("package-2.15"))
    pellucid.open_artifact(tmp_path / "entry", tmp_path / "dump")
    capture = pellucid.load(tmp_path / "dump")
    assert problems(capture) == []
    assert [frame.verdict.proven for frame in capture.of(pellucid.Frame)] == [True] * 4


@pytest.mark.skipif(torch_version() < (2, 13), reason="this torch saves code in other ways")
def test_an_object_among_the_constants_has_a_name(monkeypatch: Any) -> None:
    from torch._dynamo.package import SerializedCode

    asked: List[Any] = []
    holds = foreign._holds

    def asking(*each: Any) -> bool:
        asked.append(each)
        return holds(*each)

    monkeypatch.setattr(foreign, "_holds", asking)

    text = "def made(x):\n    return __compiled_fn_1(x, 'first', 'second', _const_Size)\n"
    (made,) = (c for c in compile(text, "m.py", "exec").co_consts if isinstance(c, CodeType))
    objects = {"first": torch.Size([4]), "second": torch.Size([5])}
    consts = tuple(objects.get(each, each) for each in made.co_consts)
    code = SerializedCode.from_code_object(made.replace(co_consts=consts))
    node = Tree(pickle.dumps(code)).root
    # The code itself has the name _const_Size.
    assert sorted(foreign._objects(node)) == ["_const_Size_", "_const_Size__"]
    found = foreign.rewrite_foreign(node, sys.version_info[:2], made, "0_0", [], {})
    assert found.source is not None and found.verdict.proven
    assert f"({', '.join(['x', *_named(found), '_const_Size'])})" in found.source
    assert [repr(found.constants[name]) for name in _named(found)] == [
        "torch.Size([4])",
        "torch.Size([5])",
    ]
    data, text, *rest = asked[0]
    one, other = _named(found)
    swap = {one: other, other: one}
    swapped = re.sub(r"_const_Size_+", lambda name: swap[name[0]], text)
    assert holds(data, text, *rest) and not holds(data, swapped, *rest)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="marshal has another layout")
def test_code_of_a_method_is_shown_as_a_function() -> None:
    code = problems.__code__
    method = code.replace(co_flags=code.co_flags | 0x8000000)
    lone = marshal.loads(foreign._without_class(marshal.dumps(method)))
    assert lone.co_flags == code.co_flags and lone.co_consts == code.co_consts


def _named(found: Any) -> List[str]:
    """Return the names of objects in a source, in their order."""
    return sorted(found.constants, key=lambda name: found.source.index(f"{name},"))


def test_a_bundle_has_what_its_entries_have(package: pellucid.Capture, tmp_path: Path) -> None:
    data = bundle(precompile=saved("package-2.13"), autotune=b"{}")
    (tmp_path / "mega").write_bytes(data)
    pellucid.open_artifact(tmp_path / "mega", tmp_path / "dump")
    made = pellucid.load(tmp_path / "dump")
    assert made.of(pellucid.Frame) == package.of(pellucid.Frame)
    assert made.caches == package.caches


def test_an_exported_program_is_a_graph(tmp_path: Path) -> None:
    def tensor(name: str) -> Dict[str, Any]:
        return {"as_tensor": {"name": name}}

    stack = 'File "m.py", line 3, in forward\n    return x.sum(dim=[0])'
    node = {
        "target": "torch.ops.aten.sum.dim_IntList",
        "inputs": [
            {"name": "self", "arg": tensor("x"), "kind": 1},
            {"name": "dim", "arg": {"as_ints": [0]}, "kind": 2},
        ],
        "outputs": [tensor("total")],
        "metadata": {"stack_trace": stack},
    }
    sizes = [{"as_expr": {"expr_str": "Symbol('s0', integer=True)"}}, {"as_int": 3}]
    graph = {
        "inputs": [tensor("x")],
        "outputs": [tensor("total")],
        "nodes": [node],
        "tensor_values": {"x": {"dtype": 7, "sizes": sizes}},
    }
    with zipfile.ZipFile(tmp_path / "m.pt2", "w") as archive:
        archive.writestr("m/models/model.json", json.dumps({"graph_module": {"graph": graph}}))
        archive.writestr("m/data/aotinductor/model/c1.wrapper.cpp", "int main() {}\n")
        archive.writestr("m/data/aotinductor/model/c1.so", b"\x7fELF")
    pellucid.open_artifact(tmp_path / "m.pt2", tmp_path / "dump")
    made = pellucid.load(tmp_path / "dump")
    assert problems(made) == []
    exported, program = made.of(pellucid.Graph)
    text = made.text(exported.file)
    assert 'def forward(self, x: "f32[s0, 3]"):' in text
    assert "# File: m.py:3 in forward, code: return x.sum(dim=[0])" in text
    assert "total = torch.ops.aten.sum.dim_IntList(x, dim=[0])" in text
    assert "int main() {}" in made.text(program.file) and program.file.endswith(".cpp")
    (artifact,) = made.of(events.Artifact)
    assert artifact.notes == ("data/aotinductor/model/c1.so: machine code, 4 bytes",)
    assert artifact.lacks[0].startswith("frames and guards")


def test_a_program_of_precompile_is_shown_with_its_frames(tmp_path: Path) -> None:
    # The multi-graph form, of which torch 2.15 has the writer only.
    frames = base64.b64encode(saved("package-2.15")).decode()
    text = "# Generated by torch.compiler.precompile -- do not edit.\n"
    text += f"DROPPED_GUARDS = [['ID_MATCH', \"G['f']\"]]\n_FRAMES = {frames!r}\n"
    (tmp_path / "work.py").write_text(text, encoding="utf-8")
    pellucid.open_artifact(tmp_path / "work.py", tmp_path / "dump")
    made = pellucid.load(tmp_path / "dump")
    assert [graph.stage for graph in made.of(pellucid.Graph)] == ["precompiled"]
    assert len(made.of(pellucid.Frame)) == 4
    (artifact,) = made.of(events.Artifact)
    assert artifact.dropped == ("['ID_MATCH', \"G['f']\"]",)
    assert "G['f']" in made.text("index.md")
