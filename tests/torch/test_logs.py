"""`pellucid import`: recorded logs become captures, without PyTorch; bad ones are told by line."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

import pellucid
import pytest
from pellucid.__main__ import main
from pellucid.comparison.compare import compare
from pellucid.dump.model.events import Frame, Graph, Log, Problem, Skipped, Source
from pellucid.dump.store.load import load_all
from pellucid.findings import find, find_all
from pellucid.torch.logs import reader
from support import compiles, run_env, torch_version, warm_python

LOGS = Path(__file__).resolve().parent / "logs"
ONE, RANKS = LOGS / "one.log.gz", LOGS / "ranks"
PROGRAM = Path(__file__).resolve().parent / "programs" / "logged.py"
PREFIX = "V0102 10:11:05.874000 30270 torch/_dynamo/utils.py:2350] "


def imported(tmp_path: Path, log: Path, **options: Any) -> Any:
    """What is made of a log."""
    pellucid.import_log(log, tmp_path / "made", **options)
    return pellucid.load(tmp_path / "made")


def written(tmp_path: Path, *records: Dict[str, Any], end: str = "\n") -> Path:
    """A log of records, each with its payload under the key ``payload``."""
    lines: List[str] = []
    for record in records:
        payload = record.pop("payload", None)
        lines.append(PREFIX + json.dumps(record))
        lines += [f"\t{line}" for line in payload.split("\n")] if payload is not None else []
    path = tmp_path / "made.log"
    path.write_text("\n".join(lines) + end)
    return path


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The capture of a log of one process, with the program's file at hand."""
    folder = tmp_path_factory.mktemp("one")
    pellucid.import_log(ONE, folder / "made", sources=[PROGRAM.parent])
    return pellucid.load(folder / "made")


def test_a_log_has_the_findings_of_its_program(one: Any) -> None:
    found = [(f.kind, os.path.basename(f.place.file), f.place.line, f.count) for f in find(one)]
    assert found == [
        ("failed", "logged.py", 20, 1),
        ("break", "logged.py", 13, 1),
        ("recompile", "logged.py", 12, 1),
    ]
    told = find(one)[2].remedy
    assert "has already made `factor` dynamic" in told, "the new version's guards are looked at"
    assert one.of(Skipped)[0].raised, "with fullgraph=True the program sees the error"


def test_a_log_makes_the_products_of_a_capture(one: Any) -> None:
    frames = {str(frame.key): frame for frame in one.of(Frame)}
    assert list(frames) == ["0/0", "1/0", "0/1"]
    assert frames["1/0"].parent == "0/0"
    stages = {(str(graph.key), graph.stage) for graph in one.of(Graph)}
    assert {("0/0", "captured"), ("0/0", "inference"), ("1/0", "captured")} <= stages
    assert one.versions["torch"].startswith("2.") and one.versions["python"].startswith("3.")
    assert [str(entry.key) for entry in one.caches[0]] == ["0/1", "0/0"], "the newest first"
    kinds = {guard.kind for guard in one.caches[0][1].guards}
    assert {"TENSOR_MATCH", "EQUALS_MATCH", "GLOBAL_STATE"} <= kinds
    lines = one.text("full_code_for_scaled_0.py").split("\n")
    assert all(guard.text in lines[guard.line - 1] for guard in one.caches[0][1].guards)
    assert one.times and one.spans
    assert not one.of(Problem)
    python = [one.directory / name for name in one.files if name.endswith(".py")]
    assert [compiles(path) for path in python] == [""] * len(python)
    index = (one.directory / "index.md").read_text()
    for lacking in one.of(Log)[0].lacks:
        assert index.count(lacking) == 1
    assert (one.directory / "page.html").stat().st_size > 50_000
    assert (one.directory / "findings.json").exists()


def test_two_imports_of_one_log_are_equal(one: Any, tmp_path: Path) -> None:
    again = imported(tmp_path, ONE, sources=[PROGRAM.parent])
    assert not compare(one.directory, again.directory)
    record = "session.json"
    assert (one.directory / record).read_text() == (again.directory / record).read_text()


def test_importing_needs_no_torch(tmp_path: Path) -> None:
    code = (
        "import sys, pellucid\n"
        f"sys.modules['torch'] = None\npellucid.import_log({str(ONE)!r}, {str(tmp_path / 'x')!r})\n"
        "assert not [name for name in sys.modules if name.startswith('torch.')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=run_env())


def test_of_several_ranks_the_first_difference_is_found(tmp_path: Path) -> None:
    pellucid.import_log(RANKS, tmp_path)
    captures = load_all(tmp_path)
    assert [(c.rank, c.world_size, c.directory.name) for c in captures] == [
        (0, 2, "rank_0"),
        (1, 2, "rank_1"),
    ]
    first = find_all(captures)[0]
    assert first.kind == "ranks"
    assert "rank 1 has a recompile of [0/1]" in first.cause


def test_a_log_without_its_end_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = gzip.decompress(ONE.read_bytes())
    seen = set()
    for number, size in enumerate(range(1000, len(whole), len(whole) // 12)):
        log = tmp_path / f"{number}.log"
        log.write_bytes(whole[:size])
        found = imported(tmp_path, log)
        note = found.of(Log)[0]
        assert note.cut or note.unfinished, size
        assert not found.of(Problem)
        seen.add(len(found.of(Frame)))
        assert note.notes[0] in (found.directory / "index.md").read_text()
    assert seen == {0, 1, 2, 3}


def test_a_compressed_log_without_its_end(tmp_path: Path) -> None:
    log = tmp_path / "one.log.gz"
    log.write_bytes(ONE.read_bytes()[:9000])
    assert "the compressed data ends" in imported(tmp_path, log).of(Log)[0].cut


def bad(line: str) -> bytes:
    whole = gzip.decompress(ONE.read_bytes()).decode().split("\n")
    at = next(n for n, text in enumerate(whole) if n > 200 and text.startswith("V"))
    return "\n".join([*whole[:at], line, *whole[at:]]).encode()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Epoch 1: loss 2.5", "not part of a structured trace record"),
        (PREFIX + '{"dynamo_start": ', "the text after the prefix is not JSON"),
        (PREFIX + "[" * 100_000, "not part of a structured trace record"),
        (PREFIX + '{"a": ' + "[" * 100_000, "nested too deeply"),
        (PREFIX + '{"a": ' + "9" * 10_000 + "}", "a number of 10000 digits"),
        (PREFIX + '{"dynamo_start": {}, "frame_id": "../x"}', "frame_id is not a number"),
        (PREFIX + '{"dynamo_start": {}, "frame_id": -1}', "frame_id is not a number"),
        (PREFIX + '{"dynamo_start": {}, "attempt": true}', "attempt is not a number"),
    ],
)
def test_a_bad_line_is_told_with_its_number(tmp_path: Path, line: str, reason: str) -> None:
    log = tmp_path / "bad.log"
    log.write_bytes(bad(line))
    number = log.read_text().split("\n").index(line) + 1
    with pytest.raises(pellucid.NotALog) as raised:
        pellucid.import_log(log, tmp_path / "made")
    assert str(raised.value).startswith(f"{log}:{number}: ")
    assert reason in raised.value.reason
    assert not (tmp_path / "made").exists(), "nothing is left of it"


def test_a_bad_line_may_be_passed_over(tmp_path: Path) -> None:
    log = tmp_path / "bad.log"
    log.write_bytes(bad("Epoch 1: loss 2.5"))
    found = imported(tmp_path, log, lenient=True)
    assert found.of(Log)[0].passed == 1
    assert len(found.of(Frame)) == 3


def test_no_name_of_a_log_leaves_the_directory(tmp_path: Path) -> None:
    graph = 'class G(torch.nn.Module):\n    def forward(self, x: "f32[2]"):\n        return (x,)'
    ids = {"frame_id": 0, "frame_compile_id": 0, "attempt": 0}
    evil = "../../../evil"
    stack = [{"line": 1, "name": evil, "filename": evil + ".py"}]
    metrics = {"co_name": evil * 50, "co_filename": "/etc/passwd", "co_firstlineno": 1}
    kernel = f"# AOT ID: ['0_inference']\n{'k' * 300} = async_compile.cpp('''\nint x;\n''')\n"
    log = written(
        tmp_path,
        {"dynamo_start": {"stack": stack}, **ids},
        {"dynamo_output_graph": {}, **ids, "subgraph_name": evil * 90, "payload": graph},
        {"artifact": {"name": evil}, **ids, "payload": graph},
        {"graph_dump": {"name": evil}, **ids, "payload": graph},
        {"inductor_output_code": {"file_path": "/etc/passwd"}, **ids, "payload": kernel},
        {"dynamo_cpp_guards_str": {}, **ids, "payload": "+- RootGuardManager"},
        {"compilation_metrics": {**metrics, "has_guarded_code": True}, **ids},
    )
    before = {path for path in tmp_path.rglob("*") if "made" not in path.parts}
    found = imported(tmp_path, log, sources=["/"])
    after = {p for p in tmp_path.rglob("*") if not p.is_relative_to(tmp_path / "made")}
    assert after == before - {tmp_path / "made"}
    assert not [name for name in found.files if "/" in name or ".." in name]
    assert len(found.of(Frame)) == 1
    assert len(found.of(Graph)) == 4
    assert not [source for source in found.of(Source) if "root:" in source.text]


def test_sources_are_read_only_where_that_is_allowed(tmp_path: Path, one: Any) -> None:
    assert [source.text for source in one.of(Source)] == [PROGRAM.read_text()]
    alone = imported(tmp_path / "a", ONE)
    shown = [source for source in alone.of(Source) if source.file.endswith("logged.py")]
    assert shown and not any(source.sha256 for source in shown)
    code = {finding.code for finding in find(alone)}
    assert code == {'print("no graph has this")', "if y.sum() > 0:", "y = x * factor"}
    (tmp_path / "logged.py").write_text("# another file\n" * 60)
    other = imported(tmp_path / "b", ONE, sources=[tmp_path])
    assert "another file" not in "".join(source.text for source in other.of(Source))
    assert "the file that was found has different lines" in [p.what for p in other.of(Problem)]


def test_sizes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = written(tmp_path, {"dynamo_output_graph": {}, "payload": "x\n" * 100})
    monkeypatch.setattr(reader, "LARGEST_PAYLOAD", 100)
    with pytest.raises(pellucid.NotALog, match=r"made.log:1: its payload is larger"):
        pellucid.import_log(log, tmp_path / "made")
    monkeypatch.setattr(reader, "LONGEST_LINE", 20)
    with pytest.raises(pellucid.NotALog, match=r"made.log:1: longer than 20 bytes"):
        pellucid.import_log(log, tmp_path / "made")


def test_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PELLUCID_QUIET", "")  # put back after the test, as --quiet sets it
    assert main(["import", str(ONE), str(tmp_path / "made")]) == 0
    out, err = capsys.readouterr()
    assert out == "1 failed compile, 1 graph break, 1 recompile\n"
    assert err == f"pellucid: {tmp_path / 'made' / 'page.html'}\n"
    assert main(["import", str(tmp_path / "none"), str(tmp_path / "x")]) == 1
    assert capsys.readouterr()[1] == (
        f"pellucid: import: {tmp_path / 'none'}: no such file or directory\n"
    )
    assert main(["import", "-q", str(ONE), str(tmp_path / "made again")]) == 0
    assert capsys.readouterr() == ("", "")
    (tmp_path / "empty").mkdir()
    assert main(["import", str(tmp_path / "empty"), str(tmp_path / "x")]) == 1
    assert "no log in this folder" in capsys.readouterr()[1]


def test_a_log_says_what_the_capture_beside_it_says(torch: Any, tmp_path: Path) -> None:
    """A limit that is hit, and recompiles; agreement/check_imports.py has more programs."""
    if torch_version() < (2, 13):
        pytest.skip("the words of breaks and guards are those of newer torch")
    script = str(Path(__file__).resolve().parent / "agreement" / "check_imports.py")
    programs = ["a_limit_where_one_graph_is_asked_for", "parameters_of_many_sizes"]
    command = [warm_python(), script, "--plain", *(f"asked/{name}" for name in programs)]
    done = subprocess.run(command, env=run_env(), stdout=subprocess.PIPE, timeout=300)
    told = done.stdout.decode()
    assert done.returncode == 0, told
    assert len(told.splitlines()) == 5 and "DIFFERS" not in told
