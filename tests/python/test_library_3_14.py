"""A sample of 3.14's own library: every file is proven.

The library is what the WebAssembly build carries; nothing of it is run.
"""

import zipfile
from pathlib import Path
from typing import Dict, List

import pytest
from needs import need
from pellucid import decompile_pyc
from py314 import python314

EVERY = 12


def library() -> Dict[str, str]:
    """Return the sources by name."""
    with zipfile.ZipFile(Path(need("pyodide")) / "python_stdlib.zip") as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".py"))
        return {name: archive.read(name).decode() for name in names[::EVERY]}


@pytest.mark.parametrize("optimize", [0, 2])
def test_a_sample_of_the_library_is_proven(optimize: int) -> None:
    python = python314()
    bad: List[str] = []
    for name, source in library().items():
        pyc = python.pyc(source, optimize)
        verdict = python.verdict(pyc, decompile_pyc(pyc).source)
        if verdict not in ("identical", "equivalent"):
            bad.append(f"{name}: {verdict}")
    assert not bad, "\n".join(bad)
