"""The Python face on every host Python: the same tests, run by each interpreter.

`make test` installs pellucid for the Pythons it finds, below build/hosts.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Dict, List

import hosts
import pytest
from needs import ROOT, VERSIONS, missing

_PARTS = ["api", "live_objects", "recompile", "generated_code"]
_OTHERS = [v for v in VERSIONS if v != "{}.{}".format(*sys.version_info[:2])]
# What the command line takes from its Python (argparse, paths, streams) changes in one direction.
_ENDS = (VERSIONS[0], VERSIONS[-1])
_RUNS = [pytest.param(v, _PARTS, id=v) for v in _OTHERS]
_RUNS += [
    pytest.param(
        version,
        ["command_line"],
        id=f"{version}-command_line",
        marks=[] if version in _ENDS else [pytest.mark.thorough],
    )
    for version in _OTHERS
]


@pytest.mark.skipif(bool(os.environ.get("PELLUCID_HOST")), reason="runs in the main environment")
@pytest.mark.parametrize(("version", "names"), _RUNS)
def test_the_python_face_works_on(version: str, names: List[str]) -> None:
    python = ROOT / "build" / "hosts" / version / "bin" / "python"
    if not python.exists():
        missing(f"pellucid installed for Python {version}")
    parts = [str(ROOT / "tests" / "python" / f"test_{name}.py") for name in names]
    done = subprocess.run(
        [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *parts],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=ROOT,
        env={**os.environ, "PELLUCID_HOST": version},
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-8000:]


def test_an_environment_that_was_left_half_made_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = {"test": ["pytest>=7", "hypothesis>=6", "pyinstaller"], "requires": ["ninja"]}
    calls: List[str] = []
    failing = "nothing"

    def run(log: Path, *command: str) -> None:
        calls.append(" ".join(command[1:]))
        if "venv" in command:
            (Path(command[-1]) / "bin").mkdir(parents=True, exist_ok=True)
            (Path(command[-1]) / "bin" / "python").touch()
        if failing in calls[-1]:
            raise SystemExit("failed")
        if "build_editable" in calls[-1]:
            (Path(command[3]) / f"made_by_{Path(command[0]).parents[1].name}.whl").touch()

    def listed(python: Path, *names: str) -> List[str]:
        return [each for name in names for each in lists.get(name, [])]

    monkeypatch.setattr(hosts, "run", run)
    monkeypatch.setattr(hosts, "listed", listed)
    monkeypatch.setattr(hosts, "knows_settings", lambda python: False)
    monkeypatch.setattr(hosts, "find_interpreter", lambda version: Path("python"))
    requirements = "-m pip install --quiet ninja pytest>=7 pyinstaller"
    for failing in ("-m venv", "--upgrade pip", requirements):
        with pytest.raises(SystemExit):
            hosts.install([(3, 9)], tmp_path, tmp_path)
        assert failing in calls[-1]
    failing, calls[:] = "nothing", []
    hosts.install([(3, 9)], tmp_path, tmp_path)
    assert [call for call in calls if call == requirements] == [requirements]
    calls.clear()
    hosts.install([(3, 9)], tmp_path, tmp_path)
    assert len(calls) == 2 and calls[1].endswith("made_by_3.9.whl")
    lists["requires"].append("cmake")
    hosts.install([(3, 9)], tmp_path, tmp_path)
    assert f"{requirements.replace('ninja', 'ninja cmake')}" in calls


def test_one_extension_serves_all_pythons_with_the_stable_abi(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed: Dict[str, str] = {}

    def run(log: Path, *command: str) -> None:
        if "build_editable" in " ".join(command):
            (Path(command[3]) / f"made_by_{Path(command[0]).parents[1].name}.whl").touch()
        elif command[-1].endswith(".whl"):
            installed[Path(command[0]).parents[1].name] = Path(command[-1]).stem

    monkeypatch.setattr(hosts, "run", run)
    monkeypatch.setattr(hosts, "listed", lambda python, *names: [])
    monkeypatch.setattr(hosts, "knows_settings", lambda python: True)
    monkeypatch.setattr(hosts, "find_interpreter", lambda version: Path("python"))
    for version in ("3.10", "3.12", "3.13", "3.15"):
        (tmp_path / version).mkdir()
    hosts.install([(3, 10), (3, 12), (3, 13)], tmp_path, tmp_path)
    assert installed == {"3.10": "made_by_3.10", "3.12": "made_by_3.12", "3.13": "made_by_3.12"}
    hosts.install([(3, 15)], tmp_path, tmp_path)
    assert installed["3.15"] == "made_by_3.12", "with what is there already"
