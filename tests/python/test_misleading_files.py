"""Files that are made to mislead: what is proven does what the file does, and nothing is added.

Every file is run, and its text beside it, by the interpreter of its version.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, Tuple

import pytest
from needs import need

HERE = Path(__file__).parent
PROVEN = ("identical", "equivalent")


def outcomes(python: str, paths: "list[Path]") -> Dict[str, Any]:
    """What each program prints and how it ends."""
    command = [python, str(HERE / "run_apart.py"), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, check=True)
    return {Path(path).stem: outcome for path, outcome in json.loads(done.stdout).items()}


def texts_of(program: "list[str]", files: Path, out: Path) -> Dict[str, str]:
    """Decompile all; return the verdicts."""
    command = [*program, "decompile", "--jobs", "2", "--json", "-o", str(out), str(files)]
    done = subprocess.run(command, capture_output=True, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(row["error"] is None for row in rows), rows
    return {Path(row["file"]).stem: row["verdict"] for row in rows}


@pytest.mark.parametrize("tier", ["native", "python"])
def test_what_is_proven_does_what_the_file_does(
    any_python: Tuple[str, str], tier: str, tmp_path: Path
) -> None:
    _, python = any_python
    program = [str(need("native"))] if tier == "native" else [sys.executable, "-m", "pellucid"]
    files, texts = tmp_path / "files", tmp_path / "texts"
    subprocess.run([python, str(HERE / "misleading_codes.py"), str(files)], check=True)
    verdicts = texts_of(program, files, texts)
    paths = sorted(files.iterdir())
    assert {path.stem for path in paths} == set(verdicts)
    before = outcomes(python, paths)
    after = outcomes(python, [texts / f"{path.stem}.py" for path in paths])
    wrong = {
        name: (verdicts[name], before[name], after[name])
        for name in before
        if verdicts[name] in PROVEN and before[name] != after[name]
    }
    assert not wrong
    # The word is no part of what any file prints.
    assert not [name for name, (printed, _) in after.items() if "INJECTED" in printed]
    assert verdicts["plain"] in PROVEN and before["plain"][0].startswith("high! mid low 4 16")


def test_a_function_without_a_name_keeps_its_structure(tmp_path: Path) -> None:
    files, texts = tmp_path / "files", tmp_path / "texts"
    command = [sys.executable, str(HERE / "misleading_codes.py"), str(files)]
    subprocess.run(command, check=True)
    texts_of([str(need("native"))], files, texts)
    names = ("gone.names", "gone.names_but_the_module_s", "called._module_", "called.a_b")
    for name in names:
        text = (texts / f"{name}.py").read_text(encoding="utf-8")
        for line in ("def grade(score, bonus=1):", "    for row in rows:", "class Shape:"):
            assert f"{line}\n" in text, (name, text)
        assert "without structure" not in text
