"""The gallery: what is built is as its metadata says, and runs by its files, bit for bit."""

import functools
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest
from needs import ROOT, need
from pellucid.torch import prepare_debug
from support import run_env, warm_python
from views import disagreements

GALLERY = ROOT / "gallery"
FAMILIES = ("break", "eager", "recompile", "shapes", "effect", "operators")

pytestmark = pytest.mark.skipif(sys.version_info < (3, 9), reason="the gallery reads trees by text")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A seeded sample of the programs, built as the command builds it; it agrees or this fails."""
    need("torch")
    out = tmp_path_factory.mktemp("gallery")
    command = [warm_python(), str(GALLERY), *FAMILIES, "--sample", "4", "--seed", "29"]
    done = subprocess.run(
        [*command, "--out", str(out)], capture_output=True, text=True, env=run_env(), timeout=500
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def records(out: Path) -> List[Dict[str, Any]]:
    found: List[Dict[str, Any]] = json.loads((out / "index.json").read_text(encoding="utf-8"))
    return found


def test_a_sample_is_as_its_metadata_says_and_reproduces_the_results(built: Path) -> None:
    from making import metadata

    found = records(built)
    assert len(found) == 4
    expected = metadata.read()
    if metadata.versions() == {key: expected[key] for key in ("python", "torch")}:
        for record in found:
            assert metadata.differences(record, expected["entries"][record["name"]]) == []
    dumps = [built / record["folder"] / "dump" for record in found]
    assert disagreements(dumps, built / "views") == []
    for record in found:
        folder = built / record["folder"]
        assert (folder / "dump" / "page.html").exists()
        if record["replay"] == "identical" and record["graphs"]:
            assert "0 of them differ" in record["said"][0]
            assert "graphs called: 0" not in record["said"][1]


def test_a_decorated_function_is_found_by_the_code_that_runs(
    torch: Any, dynamo: Any, tmp_path: Path
) -> None:
    """Models of transformers are decorated, and a frame has the name of what is decorated."""
    from replay.files import Files

    def decorator(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(x: Any) -> Any:
            return function(x) + 1

        return wrapper

    @decorator
    def step(x: Any) -> Any:
        return x.sin()

    with prepare_debug(tmp_path):
        torch.compile(step, backend="eager")(torch.ones(2))
    assert Files(tmp_path).function(step.__code__) == 0


def test_a_file_that_is_changed_changes_what_run_py_says(built: Path, tmp_path: Path) -> None:
    candidates = [r for r in records(built) if r["replay"] == "identical" and r["graphs"]]
    record = candidates[0]
    out = tmp_path / "gallery"
    shutil.copytree(built / "replay", out / "replay")
    folder = out / record["folder"]
    shutil.copytree(built / record["folder"], folder)
    for path in (folder / "dump").glob("__compiled_fn_*.py"):
        text = path.read_text(encoding="utf-8")
        path.write_text(
            text.replace("        return (", "        return _changed("), encoding="utf-8"
        )
        with path.open("a", encoding="utf-8") as file:
            file.write("\n\ndef _changed(*results):\n    return tuple(r + 1 for r in results)\n")
    done = subprocess.run([warm_python(), "run.py"], cwd=folder, env=run_env(), timeout=200)
    assert done.returncode == 1  # something differs


def test_the_index_leads_to_what_is_there_and_asks_for_nothing_else(built: Path) -> None:
    page = (built / "index.html").read_text(encoding="utf-8")
    for record in records(built):
        assert f'href="{record["folder"]}/dump/page.html"' in page
        assert (built / record["folder"] / "run.py").exists()
    assert "default-src 'none'" in page
    assert "://" not in page


def test_every_program_has_metadata_and_says_what_to_look_at() -> None:
    from making import metadata
    from making.entries import PROGRAMS, entries

    programs = {e.name: e for e in entries(GALLERY / "models.txt") if e.kind == PROGRAMS}
    expected = metadata.read()["entries"]
    assert len(programs) >= 24
    for name, entry in programs.items():
        assert entry.title.endswith((".", "?")), name
        assert "Look at " in entry.about, name
        assert expected[name]["family"] == entry.family
    models = {e.name for e in entries(GALLERY / "models.txt")} - set(programs)
    assert set(expected) <= {*programs, *models}
    assert len(models) == 138


def test_metadata_tells_another_count_or_finding() -> None:
    from making import metadata

    record = {
        **{"name": "a", "family": "break", "replay": "identical"},
        **{
            "frames": 2,
            "graphs": 2,
            "breaks": 1,
            "recompiles": 0,
            "findings": [{"id": "b", "kind": "break"}],
        },
    }
    expected = metadata.expectation(record)
    assert metadata.differences(record, expected) == []
    assert metadata.differences({**record, "breaks": 2}, expected) == ["a: breaks is 2, expected 1"]
    assert metadata.differences({**record, "findings": []}, expected) == [
        "a: findings is [], expected ['b']"
    ]


def test_a_sample_is_the_same_for_the_same_seed() -> None:
    from making.entries import entries

    chosen = _command().choose
    known = entries(GALLERY / "models.txt")
    first = chosen(known, ["programs"], 5, 3)
    assert len(first) == 5
    assert chosen(known, ["programs"], 5, 3) == first != chosen(known, ["programs"], 5, 4)
    assert {e.family for e in chosen(known, ["break"], 0, 0)} == {"break"}
    with pytest.raises(SystemExit):
        chosen(known, ["nonesuch"], 0, 0)


def _command() -> Any:
    import importlib.util

    spec = importlib.util.spec_from_file_location("gallery_command", GALLERY / "__main__.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_work_in_a_fork_may_end_in_any_way() -> None:
    from zoo.forked import in_process

    def steps(end: Any) -> Iterator[Dict[str, Any]]:
        yield {"step": 1}
        end()

    assert in_process(lambda: steps(dict), 60) == ({"step": 1}, "", "")
    raised = in_process(lambda: steps(lambda: [][0]), 60)
    assert (raised.record, raised.error[:10], raised.killed) == ({"step": 1}, "IndexError", "")
    died = in_process(lambda: steps(lambda: os.kill(os.getpid(), 9)), 60)
    assert died.record == {"step": 1}
    assert died.killed.startswith("signal 9")
    late = in_process(lambda: steps(lambda: time.sleep(60)), 1)
    assert late.killed.startswith("signal 9")
    assert in_process(lambda: [], 60) == (None, "", "")


def test_what_dynamo_does_around_an_optimizer_is_done_for_its_files() -> None:
    need("torch")
    import torch
    from replay import optimizers

    def step(self: Any) -> None:
        self._init_group()

    weight = torch.nn.Parameter(torch.ones(2))
    weight.grad = torch.ones(2)
    adam = torch.optim.Adam([weight])
    local: Dict[str, Any] = {"self": adam}
    scope: Dict[str, Any] = {}
    optimizers.refer(["__optimizer_c5", "sgd"], scope, local)
    assert list(scope) == ["__optimizer_c5"] and scope["__optimizer_c5"]() is adam
    optimizers.make_state((lambda self: 0).__code__, local)
    assert not adam.state
    optimizers.make_state(step.__code__, local)
    assert set(adam.state[weight]) == {"step", "exp_avg", "exp_avg_sq"}
    found = optimizers.constants(local)
    assert found["self___param_groups_0__params___0"] is weight
    name = "self___state_list_dict_keys_L__self___state___0___exp_avg"
    assert found[name] is adam.state[weight]["exp_avg"]
    assert optimizers.constants({"self": weight}) == {}
