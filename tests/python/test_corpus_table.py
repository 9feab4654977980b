"""`pellucid corpus`: a row for each distinct file, whatever is killed, hangs or eats memory."""

import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from case_pycs import pycs_of, unpack
from needs import ROOT, need
from pellucid import batch
from pellucid.inputs import Job

CASES = pycs_of("3.12")
LOOPS = [data for name, data in CASES.items() if name.startswith("loops/")]
PELLUCID = [sys.executable, "-m", "pellucid", "corpus"]


@pytest.fixture(autouse=True)
def _extras():
    for name in ("pyarrow", "fsspec", "pebble"):
        need(name)


def command(*arguments):
    return [*PELLUCID, *map(str, arguments), "--verify=relowered"]


def corpus(*arguments):
    return subprocess.run(
        command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
        timeout=300,
    )  # fmt: skip


def table(folder):
    """The rows by digest, without the one column that differs; none may be there twice."""
    import pyarrow.dataset as ds

    rows = ds.dataset(folder, partitioning="hive").to_table().to_pylist()
    for row in rows:
        row.pop("seconds")
    found = {row["sha256"]: row for row in rows}
    assert len(found) == len(rows)
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Some cases, one of them twice, an archive with another, and a file that is no code."""
    folder = tmp_path_factory.mktemp("files")
    for kind in ("loops", "match", "exceptions"):
        unpack("3.12", folder, f"{kind}/*")
    some = sorted((folder / "loops").iterdir())
    shutil.copy(some[0], folder / "zz_twice.pyc")
    with zipfile.ZipFile(folder / "some.whl", "w") as wheel:
        wheel.write(some[1], "pkg/again.pyc")
        new = next(data for name, data in CASES.items() if name.startswith("classes/"))
        wheel.writestr("pkg/new.pyc", new)
    (folder / "broken.pyc").write_bytes(some[2].read_bytes()[:60])
    return folder


@pytest.fixture(scope="module")
def undisturbed(files, tmp_path_factory):
    need("pyarrow")
    out = tmp_path_factory.mktemp("table") / "all.parquet"
    done = corpus(files, "-o", out, "--jobs", 2)
    assert done.returncode == 1, done.stderr  # of the broken one
    return table(out)


def test_rows_say_what_decompile_says(files, undisturbed):
    # What is in a folder is before what is in the folders below it.
    again = {path.name for path in sorted((files / "loops").iterdir())[:2]}
    pycs = [p for p in sorted(files.rglob("*.pyc")) if p.name not in (*again, "broken.pyc")]
    origins = {row["origin"]: row for row in undisturbed.values()}
    members = {str(files / "some.whl" / name) for name in ("pkg/again.pyc", "pkg/new.pyc")}
    assert set(origins) == {*map(str, pycs), *members, str(files / "broken.pyc")}
    for path in pycs[::9]:
        row = origins[str(path)]
        result = batch.decompile_file(Job(path, None), batch.Options("relowered"))
        assert (row["python"], row["outcome"]) == ("3.12", result.verdict.status)
        assert row["source"] == result.decompilation.source
        assert [f["code"] for f in row["functions"]] == [c.code for c in result.verdict.codes]
    broken = origins[str(files / "broken.pyc")]
    assert broken["outcome"] == "error" and "at byte 0x" in broken["error"]
    assert broken["python"] == "unknown" and broken["source"] is None


def children(pid):
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                words = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if int(fields[1]) == pid and b"spawn_main" in words:
                found.append(int(folder.name))
    return found


def wait_for_child(pid):
    end = time.monotonic() + 60
    while not children(pid):
        assert time.monotonic() < end
        time.sleep(0.02)


def test_killed_runs_are_taken_up_and_killed_processes_are_replaced(files, undisturbed, tmp_path):
    out = tmp_path / "all.parquet"
    (tmp_path / "few").mkdir()
    for number, path in enumerate(sorted((files / "loops").iterdir())[:40]):
        shutil.copy(path, tmp_path / "few" / f"{number}.pyc")
    assert corpus(tmp_path / "few", "-o", out, "--jobs", 1).returncode == 0
    with subprocess.Popen(command(files, "-o", out), stderr=subprocess.DEVNULL) as run:
        wait_for_child(run.pid)
        run.kill()  # leaves parts, an unfinished one, a lock that nobody holds
    (out / "python=3.12" / ".unfinished-part-x.parquet").write_bytes(b"half")
    run = subprocess.Popen(command(files, "-o", out, "--jobs", 2), stderr=subprocess.PIPE)
    killed = 0
    while killed < 3 and run.poll() is None:
        for worker in children(run.pid)[:1]:
            try:
                os.kill(worker, signal.SIGKILL)
            except ProcessLookupError:
                continue
            killed += 1
            time.sleep(0.3)
        time.sleep(0.02)
    _, told = run.communicate(timeout=300)
    assert run.returncode == 1, told
    rows = table(out)
    assert killed and set(rows) == set(undisturbed), told
    for digest, row in rows.items():
        kept = {**undisturbed[digest], "origin": row["origin"]}
        assert row == kept
    assert not list(out.rglob(".unfinished*"))


def test_file_that_takes_too_long_or_too_much_costs_itself_only(tmp_path):
    import importlib.util
    import marshal

    # Processes are looked after ten times a second: it takes far longer than that.
    lines = "".join(f"x{i} = f(x{i - 1}, {i})\n" for i in range(1, 200000))
    code = compile(lines, "large.py", "exec")
    large = tmp_path / "in" / "large.pyc"
    large.parent.mkdir()
    large.write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
    (tmp_path / "in" / "zz_small.pyc").write_bytes(LOOPS[0])
    for limit, words in (("--seconds=0.05", "not done after 0.05 s"), ("--memory=4M", "memory")):
        out = tmp_path / words.split()[0]
        extra = ["--no-verify"] if "memory" in limit else []
        done = corpus(tmp_path / "in", "-o", out, "--jobs", 1, limit, *extra)
        by_name = {Path(row["origin"]).name: row for row in table(out).values()}
        assert by_name["large.pyc"]["outcome"] == "error", by_name["large.pyc"]
        assert words in by_name["large.pyc"]["error"]
        assert done.returncode == 1
        if "memory" in limit:
            assert by_name["zz_small.pyc"]["source"]
    # Its row stays, until it is asked for that files like it are tried again.
    again = [tmp_path / "in", "-o", tmp_path / "not", "--jobs", 1]
    for more, outcome in ((), "error"), (["--retry-limited"], "equivalent"):
        corpus(*again, *more)
        by_name = {Path(row["origin"]).name: row for row in table(tmp_path / "not").values()}
        assert by_name["large.pyc"]["outcome"] == outcome
        assert set(by_name) == {"large.pyc", "zz_small.pyc"}
    (tmp_path / "in" / "aa_small.pyc").write_bytes(LOOPS[0])
    (tmp_path / "in" / "b_big.pyc").write_bytes(bytes(30 << 20))
    assert corpus(tmp_path / "in", "-o", tmp_path / "big", "--memory=64M").returncode == 1
    by_name = {Path(row["origin"]).name: row for row in table(tmp_path / "big").values()}
    assert by_name["b_big.pyc"]["error"] == "not enough memory"
    assert by_name["aa_small.pyc"]["source"]


def test_addresses_are_read_through_fsspec(tmp_path):
    import fsspec
    from pellucid.corpus import found

    pyc = LOOPS[0]
    files = fsspec.filesystem("memory")
    files.pipe("/corpus_test/a/one.pyc", pyc)
    files.pipe("/corpus_test/a/notes.txt", b"no code")
    places = list(found.places(["memory://corpus_test/a", "memory://corpus_test/none"]))
    assert [place.origin for place in places if place.read] == ["memory:///corpus_test/a/one.pyc"]
    (bad,) = [place for place in places if not place.read]
    assert bad.origin == "memory://corpus_test/none" and "no such file" in bad.error
    for place in found.places(["memory://corpus_test/a"]):
        assert found.read(place).data == pyc


def test_object_that_cannot_be_read_leaves_the_others(monkeypatch):
    import fsspec
    from pellucid.corpus import found

    files = fsspec.filesystem("memory")
    pyc = LOOPS[0]
    names = [f"/corpus_bad/{name}.pyc" for name in ("a", "b" * 300, "c")]
    for name in names:
        files.pipe(name, pyc)
    whole = type(files).get_file

    def get_file(self, name, copy, **options):
        if name.endswith("/a.pyc"):
            raise PermissionError(13, "Permission denied")
        return whole(self, name, copy, **options)

    monkeypatch.setattr(type(files), "get_file", get_file)
    places = list(found.places(["memory://corpus_bad"]))
    assert [bool(place.read) for place in places] == [False, True, True]
    assert places[0].error == "permission denied"


def test_table_of_another_kind_is_refused(files, tmp_path):
    out = tmp_path / "out"
    first = tmp_path / "first.pyc"
    first.write_bytes(LOOPS[0])
    assert corpus(first, "-o", out).returncode == 0
    done = subprocess.run([*PELLUCID, first, "-o", out, "--no-verify"], stderr=subprocess.PIPE)
    assert done.returncode == 2 and b"made with --verify=relowered, so" in done.stderr
    done = corpus(first, "-o", files)
    assert done.returncode == 2 and "not a table of pellucid corpus" in done.stderr
    done = corpus(first, "-o", first)
    assert done.returncode == 2 and "not a folder" in done.stderr


def test_input_that_is_none_is_told_and_the_others_are_done(tmp_path):
    first = tmp_path / "first.pyc"
    first.write_bytes(LOOPS[0])
    done = corpus(tmp_path / "none", first, "-o", tmp_path / "out")
    assert done.returncode == 1 and "none: no such file or directory" in done.stderr
    assert len(table(tmp_path / "out")) == 1


def test_columns_are_documented():
    from pellucid.corpus.rows import COLUMNS, schema

    text = (ROOT / "docs" / "corpus.md").read_text(encoding="utf-8")
    for name, (kind, about) in COLUMNS.items():
        assert f"| `{name}` | `{kind}` | {about} |" in text
    assert schema().names == list(COLUMNS)


def test_ray_makes_the_same_rows(files, undisturbed, tmp_path):
    if sys.version_info[:2] != (3, 11):
        pytest.skip("tested on 3.11")
    need("ray")
    out = tmp_path / "all.parquet"
    done = corpus(files, "-o", out, "--engine", "ray")
    assert done.returncode == 1, done.stderr
    assert table(out) == undisturbed
