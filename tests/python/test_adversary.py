"""No verdict is false: of code that was changed by hand, and of some hundreds of random changes."""

import importlib.util
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Tuple

import pytest
from pellucid.decompilation import prove_pyc
from pellucid.verdicts import Verdict

ROOT = Path(__file__).resolve().parents[2]
TRIES = 250


def test_what_only_cpython_reads_is_unproven(any_python: Tuple[str, str]) -> None:
    version, python = any_python
    done = subprocess.run(
        [python, str(ROOT / "tests" / "python" / "breach_cases.py")],
        stdout=subprocess.PIPE,
        check=True,
    )
    cases = pickle.loads(done.stdout)
    wanted = (3, int(version.split(".")[1]))
    programs = cases.pop("")
    assert len(cases) >= 4
    for tier in ("recompiled", "relowered"):
        _, verdict = prove_pyc(programs, tier, version=wanted)
        assert verdict.at_least("equivalent"), (tier, verdict.reason)
    proven = [
        f"{name} ({tier})"
        for name, data in cases.items()
        for tier in ("recompiled", "relowered")
        if prove_pyc(data, tier, version=wanted)[1].status != "unproven"
    ]
    assert not proven


def adversary(*arguments: str) -> str:
    command = [sys.executable, str(ROOT / "fuzz" / "adversary"), *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, cwd=ROOT, check=False)
    said = done.stdout.decode(errors="replace")
    assert done.returncode == 0, said
    return said


@pytest.mark.parametrize("seed", ["1", "2"])
def test_no_random_change_is_called_proven_that_behaves_differently(
    any_python: Tuple[str, str], seed: str, tmp_path: Path
) -> None:
    half = TRIES // 2
    asked = ("--python", any_python[0], "--seed", seed, "--tries", str(half))
    said = adversary(*asked, "--keep", str(tmp_path))
    for tier in ("recompiled", "relowered"):
        found = re.search(rf"(\d+) proven {tier}", said)
        assert found is not None and int(found[1]) > half // 20, said


def test_live_code_is_held_to_its_stand_in(tmp_path: Path) -> None:
    version = "{}.{}".format(*sys.version_info)
    arguments = ("--python", version, "--tries", str(TRIES), "--tier", "live")
    found = re.search(r"(\d+) proven live", adversary(*arguments, "--keep", str(tmp_path)))
    assert found is not None and int(found[1]) > TRIES // 20


def test_a_false_verdict_is_found_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # The adversary can fail: a prover that calls everything proven is caught.
    def credulous(data: bytes, tier: str, **options: object) -> object:
        found, _ = prove_pyc(data, tier, **options)  # type: ignore[arg-type]
        other = found.source.replace("return", "return 1,")
        verdict = Verdict("equivalent", tier)
        return type(found)(**{**vars(found), "source": other}), verdict

    monkeypatch.setattr(sys.modules["pellucid.decompilation"], "prove_pyc", credulous)
    version = "{}.{}".format(*sys.version_info)
    arguments = ["adversary", "--python", version, "--tries", "40", "--search", "1"]
    monkeypatch.setattr(sys, "argv", [*arguments, "--tier", "relowered", "--keep", str(tmp_path)])
    spec = importlib.util.spec_from_file_location(
        "adversary_main", ROOT / "fuzz/adversary/__main__.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.main() == 1
    assert "FALSE" in capsys.readouterr().out
    assert list(tmp_path.glob("*.marshal"))
