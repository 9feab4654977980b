"""The plugin for pytest where there is no torch, and what it costs where nothing uses it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from needs import ROOT
from pellucid.testing.dumps import path_of
from pellucid.testing.snapshots import Entry, Snapshot, read

# As if torch were not installed: `import torch` fails, and find_spec finds nothing.
WITHOUT_TORCH = "import sys\nsys.modules['torch'] = None\n"
TESTS = """\
from pellucid.testing import assert_compiles

def test_asserted():
    assert_compiles(abs, 1)

def test_captured(pellucid_capture):
    raise AssertionError("it is skipped")

def test_neither():
    pass
"""


def run_pytest(folder: Path, *arguments: str) -> str:
    """Run pytest with the plugin alone, and return what it prints."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    env = {**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-p", "pellucid.testing.plugin", "-ra", *arguments]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder, env=env, check=False
    )
    return done.stdout.decode()


def test_without_torch_the_fixture_skips_and_the_assertion_says_what_to_install(
    tmp_path: Path,
) -> None:
    (tmp_path / "conftest.py").write_text(WITHOUT_TORCH)
    (tmp_path / "test_it.py").write_text(TESTS)
    told = run_pytest(tmp_path)
    assert "1 failed, 1 passed, 1 skipped" in told, told
    assert "SKIPPED [1] test_it.py" in told and "PyTorch is not installed" in told
    assert "ImportError: assert_compiles: PyTorch is not installed. Install it with: pip" in told


def test_a_run_that_uses_nothing_of_it_imports_and_writes_nothing(tmp_path: Path) -> None:
    ours = "sorted(name for name in sys.modules if name.startswith('pellucid'))"
    asks = f"import sys\ndef test_it():\n    print({ours})\n    assert 'torch' not in sys.modules\n"
    (tmp_path / "test_it.py").write_text(asks)
    told = run_pytest(tmp_path, "-s")
    assert "1 passed" in told, told
    (line,) = (line for line in told.splitlines() if "pellucid.testing" in line and "[" in line)
    loaded = line[line.index("[") : line.index("]") + 1]
    mine = {f"pellucid.{part}" for part in ("_version", "errors", "shown", "testing")}
    parts = {f"pellucid.testing.{part}" for part in ("asserting", "dumps", "plugin")}
    assert set(eval(loaded)) == {"pellucid"} | mine | parts
    assert not list(tmp_path.rglob("*pellucid*"))


def test_a_failed_test_shows_its_log_without_the_trace_events_of_torch(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import logging\n"
        "def test_it():\n"
        "    logging.getLogger('mine').warning('a warning')\n"
        "    logging.getLogger('torch.__trace').error('')\n"
        "    assert 0\n"
        "def test_other():\n"
        "    logging.getLogger('torch.__trace').error('')\n"
        "    assert 0\n"
    )
    told = run_pytest(tmp_path)
    assert "a warning" in told and "torch.__trace" not in told.replace("'torch.__trace'", "")
    assert told.count("Captured log call") == 1


def test_pytest_finds_the_plugin_by_itself() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '[project.entry-points.pytest11]\npellucid = "pellucid.testing.plugin"\n' in text


@pytest.mark.parametrize(
    ("node", "path"),
    [
        ("tests/a/test_x.py::test_y", "tests/a/test_x/test_y"),
        ("test_x.py::TestZ::test_y[1-True]", "test_x/TestZ.test_y[1-True]"),
        ("../other/test_x.py::test_y", "other/test_x/test_y"),
    ],
)
def test_a_dump_has_the_name_of_its_test(node: str, path: str) -> None:
    assert str(path_of(node)) == path


def test_names_of_tests_stay_apart_and_short() -> None:
    parts = ("a/b", "a b", "a_b", "a::b", "a.b", "é" * 300, "é" * 301)
    nodes = [f"test_x.py::test_y[{each}]" for each in parts]
    nodes += [f"test_x.py::test_{'測' * many}" for many in (84, 85)]  # 252 bytes, as files may have
    paths = [str(path_of(node)) for node in nodes]
    assert len(set(paths)) == len(nodes)
    assert max(len(path.encode()) for path in paths) < 130


def test_a_snapshot_may_be_written_by_hand_and_is_repaired(tmp_path: Path) -> None:
    """The order of the findings does not matter, and marks of a merge conflict are overwritten."""
    entries = tuple(
        Entry(kind, "model.py", "x", "the cause", 1) for kind in ("break", "eager", "recompile")
    )
    snapshot = Snapshot({}, {"functions": 1, "versions": 1, "graphs": 2}, entries)
    file = tmp_path / "folder" / "test_it.json"
    snapshot.write(file)
    text = file.read_text()
    record = json.loads(text)
    counts = {**record["counts"], "comment": 7}
    file.write_text(json.dumps({**record, "counts": counts, "findings": record["findings"][::-1]}))
    known = read(file)
    assert known is not None and known.is_same(snapshot)
    wrong = (f"<<<<<<< HEAD\n{text}", "[]", "null", '"x"', "\0", text.replace("cause", "reason"))
    for broken in (*wrong, text.replace('"graphs"', '"graph"'), text.replace("1,", '"one",')):
        file.write_text(broken)
        with pytest.raises(ValueError, match=r"test_it\.json is not a snapshot: "):
            read(file)
        snapshot.write(file)
        assert file.read_text() == text
