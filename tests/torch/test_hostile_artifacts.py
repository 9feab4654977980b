"""`pellucid open` of hostile and damaged files: nothing runs, and nothing else is read."""

import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pellucid
import pytest
from artifact_files import bundle, saved
from pellucid import events
from pellucid.dump.model.events import CompileKey
from pellucid.errors import DecompileError, NotAnArtifact
from pellucid.torch.artifacts.compiled import backends_in, functions_in
from pellucid.torch.artifacts.guards import entry_of
from pellucid.torch.artifacts.parts import parts_of
from support import run_env

WATCHED = """
import sys
import pellucid, pellucid.torch.artifacts.read, pellucid.report.files, pellucid.findings
RAN = []
def hook(event, arguments):
    if event in ("os.system", "subprocess.Popen", "os.posix_spawn", "os.exec", "pickle.find_class"):
        RAN.append((event, arguments))
    if event == "import" and arguments[0] in ("poison", "torch"):
        RAN.append((event, arguments[0]))
    if event == "exec" and getattr(arguments[0], "co_filename", "").startswith(("saved.py", "poi")):
        RAN.append((event, arguments[0]))
    if event == "open" and str(arguments[0]).endswith("saved.py"):
        RAN.append((event, arguments[0]))
sys.addaudithook(hook)
for artifact in sys.argv[2:]:
    pellucid.open_artifact(artifact, sys.argv[1])
    capture = pellucid.load(sys.argv[1])
    print(artifact, len(capture.of(pellucid.Frame)), len(capture.of(pellucid.events.Problem)))
print(RAN, [name for name in ("torch", "poison") if name in sys.modules])
"""


RUNS = b"\x8c\x02os\x8c\x06system\x93\x8c\x09touch ran\x85R"
IMPORTS = b"\x8c\x06poison\x8c\x03run\x93)R"
OWN = b"\x8c\x06poison\x8c\x05Class\x93)\x81}\x8c\x01aK\x01sb"


FORWARD = """\
class GraphModule(torch.nn.Module):
    def forward(self, primals_1: "f32[2]"):
        sin: "f32[2]" = torch.ops.aten.sin.default(primals_1)
        return (sin, primals_1)
"""
BACKWARD = """\
class GraphModule(torch.nn.Module):
    def forward(self, primals_1: "f32[2]", tangents_1: "f32[2]"):
        cos: "f32[2]" = torch.ops.aten.cos.default(primals_1)
        mul: "f32[2]" = torch.ops.aten.mul.Tensor(tangents_1, cos)
        return (mul,)
"""


class AOTAutogradResult:
    """By its name, what torch's cache keeps of a graph and its backward pass."""


class _GraphModulePickleData:
    """By its name, what torch saves of a graph for the backend `eager`."""


def trained() -> bytes:
    made: Any = AOTAutogradResult()
    made.aot_joint_graph_str = made.aot_forward_graph_str = FORWARD
    made.aot_backward_graph_str = BACKWARD
    graph: Any = _GraphModulePickleData()
    graph.gm_dict = {"_code": "\n\ndef forward(self, x):\n    return (x,)\n    "}
    return pickle.dumps([made, graph])


def test_a_poisoned_artifact_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "poison.py").write_text("open('imported', 'w')", encoding="utf-8")
    (tmp_path / "saved.py").write_text("SECRET = 1\n" * 20, encoding="utf-8")
    # The results are dropped, and nothing is remembered: the rest stays as it is.
    before = b"\x80\x04" + b"".join(each + b"0" for each in (RUNS, IMPORTS, OWN))
    alone = (
        b"PT2AOT\x01\x80\x04}(\x8c\x0bruntime_env" + RUNS + b"\x8c\x0doriginal_code" + OWN + b"u."
    )
    files = {
        "function": before + saved("function-2.13")[2:],
        "entry": before + saved("package-2.13")[2:],
        "alone": alone,
        "trained": trained(),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    command = [sys.executable, "-c", WATCHED, "dump", *files]
    done = subprocess.run(command, cwd=tmp_path, env=run_env(), stdout=subprocess.PIPE, text=True)
    assert done.stdout.splitlines()[:2] == ["function 1 0", "entry 4 0"]
    assert done.stdout.splitlines()[-1].startswith("[] []"), done.stdout
    there = {path.name for path in tmp_path.iterdir()}
    assert there == {*files, "dump", "poison.py", "saved.py"}
    last = pellucid.load(tmp_path / "dump")
    (event,) = last.of(events.Saved)
    assert [tensor.name for tensor in event.tensors] == ["primals_1"]
    stages = [graph.stage for graph in last.of(pellucid.Graph)]
    assert stages == ["joint", "forward", "backward", "captured"]
    texts = [path.read_bytes() for path in (tmp_path / "dump").iterdir()]
    assert not any(b"SECRET" in text for text in texts)


def test_names_of_dynamo_for_other_modules_prove_nothing(tmp_path: Path) -> None:
    data = saved("package-2.13").replace(b"torch._dynamo.utils", b"poison.dynamo.utils")
    pellucid.open_artifact(_written(tmp_path, data), tmp_path / "dump")
    capture = pellucid.load(tmp_path / "dump")
    frames = capture.of(pellucid.Frame)
    assert {frame.verdict.status for frame in frames} == {"failed"} and len(frames) == 4
    assert "would be poison.dynamo.utils" in frames[0].verdict.reason
    assert not any("import poison" in path.read_text() for path in capture.directory.glob("*.py"))


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the code is that of Python 3.11")
def test_a_constant_that_only_loading_can_make_has_a_name(tmp_path: Path) -> None:
    data = saved("package-2.13").replace(b"\x8c\x07between", b"cos\nab\n)R")
    pellucid.open_artifact(_written(tmp_path, data), tmp_path / "dump")
    capture = pellucid.load(tmp_path / "dump")
    frames = capture.of(pellucid.Frame)
    assert [frame.verdict.proven for frame in frames] == [True] * 4
    text = capture.text(frames[0].file)
    assert "# _const_Opaque: <os.ab object>\n" in text and "(_const_Opaque, flush=True)" in text


def test_code_that_is_cut_off_does_not_become_a_code_object(tmp_path: Path) -> None:
    data = saved("package-2.13")
    tree = parts_of(_written(tmp_path, data))[0].trees[0]
    codes = [node for node in tree.objects("SerializedCode") if node.get("co_code")]
    for node in codes:  # the last instruction loses its inline cache, or becomes one with some
        instructions = node.fields["co_code"].value
        broken = instructions[:-2] + b"\xab\x01"
        pellucid.open_artifact(
            _written(tmp_path, data.replace(instructions, broken)), tmp_path / "dump"
        )
    assert len(codes) > 5


def _written(folder: Path, data: bytes) -> Path:
    path = folder / "entry"
    path.write_bytes(data)
    return path


def test_damaged_artifacts_are_read_or_refused(tmp_path: Path) -> None:
    rng = random.Random(11)
    read = 0
    for name in ("function-2.13", "package-2.13", "function-2.15"):
        for _ in range(40):
            data = bytearray(saved(name))
            for _ in range(rng.randint(1, 6)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            try:
                parts = parts_of(_written(tmp_path, bytes(data)))
            except NotAnArtifact:
                continue
            trees = [tree for part in parts for tree in part.trees]
            backends_in(trees)
            for versions in functions_in(trees):
                for version in versions:
                    try:
                        entry_of(CompileKey("L0/0"), version.guards)
                    except DecompileError:
                        continue
                    read += 1
    assert read > 40


def test_what_torch_does_not_save_is_refused(tmp_path: Path, capsys: Any) -> None:
    from pellucid.__main__ import main

    path = tmp_path / "file"
    for data in (b"", b"text", b"PK\x03\x04", pickle.dumps(1)[:-1], bundle()[:-1]):
        path.write_bytes(data)
        with pytest.raises(NotAnArtifact, match="file: "):
            pellucid.open_artifact(path, tmp_path / "dump")
    assert main(["open", str(path), str(tmp_path / "dump")]) == 1
    assert main(["open", str(tmp_path / "none"), str(tmp_path / "dump")]) == 1
    assert "no such file" in capsys.readouterr().err
    assert not (tmp_path / "dump").exists()


def test_the_command_says_what_it_found(tmp_path: Path, capsys: Any) -> None:
    from pellucid.__main__ import main

    assert main(["open", str(_written(tmp_path, saved("package-2.13"))), str(tmp_path / "d")]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("4 compiled versions (4 proven), ")
    assert said.err.rstrip().endswith("page.html")
