"""ARCHITECTURE.md is true: its dumps are those of this build, and the files that it names exist."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Iterator

import pytest
from needs import ROOT, need

DOCUMENT = ROOT / "ARCHITECTURE.md"
FOLDERS = ("src", "python", "tools", "tests", "docs", "cmake")


def check(document: Path) -> "subprocess.CompletedProcess[str]":
    program = (
        "import pathlib, sys; sys.path.insert(0, 'tools'); import walkthrough as w;"
        "w.DOCUMENT = pathlib.Path(sys.argv.pop()); sys.exit(w.main())"
    )
    command = [sys.executable, "-c", program, str(need("native")), str(document)]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)


def test_its_dumps_are_those_of_this_build() -> None:
    done = check(DOCUMENT)
    assert done.returncode == 0, done.stdout


def test_another_dump_is_told(tmp_path: Path) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    changed = tmp_path / "ARCHITECTURE.md"
    changed.write_text(text.replace("branch v22 -> b2 -> b4", "branch v22 -> b4 -> b2"))
    done = check(changed)
    assert done.returncode == 1 and "+  branch v22 -> b2 -> b4" in done.stdout


def named() -> Iterator[str]:
    """Yield each path from the root that the document names in backquotes or links to."""
    text = DOCUMENT.read_text(encoding="utf-8")
    for path in re.findall(r"`([\w./]+)`|\]\(([\w./]+)\)", text):
        path = path[0] or path[1]
        if path.split("/")[0] in FOLDERS and "/" in path:
            yield path


@pytest.mark.parametrize("path", sorted(set(named())))
def test_a_path_that_it_names_exists(path: str) -> None:
    assert (ROOT / path).exists()
