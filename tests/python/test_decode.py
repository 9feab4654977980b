"""The decoder against `dis`, and the generated opcode tables against their interpreters.

A sample of each standard library; `tools/check_decode.py VERSION` takes the whole of it.
"""

import subprocess
import sys
from pathlib import Path
from typing import List

import pytest
from needs import ROOT, VERSIONS, need

sys.path.insert(0, str(ROOT / "tools"))

import check_decode

EVERY = 60


def interpreter(version: str) -> List[str]:
    """Return the command that runs a script on `version`, or end the test."""
    if version == "3.14":
        runner = str(ROOT / "tests" / "node" / "py314.mjs")
        return [str(need("node")), runner, str(need("pyodide"))]
    return [str(need(f"python{version}"))]


@pytest.mark.parametrize("version", [*VERSIONS, "3.14"])
def test_a_sample_of_the_standard_library_decodes_as_dis_shows_it(
    version: str, tmp_path: Path
) -> None:
    binary = Path(need("native"))
    command = interpreter(version)
    # WebAssembly has a /tmp of its own; it sees the folders of the repository.
    folder = tmp_path if version != "3.14" else ROOT / "build" / "test_decode_3.14"
    check_decode.make_listings(command, folder, ["--stdlib", "--every", str(EVERY)])
    figures = check_decode.compare(binary, folder)
    assert figures.difference is None
    assert figures.codes > 100


@pytest.mark.parametrize("version", [*VERSIONS, "3.14"])
def test_the_opcode_table_is_what_the_interpreter_says(version: str) -> None:
    script = str(ROOT / "tools" / "gen_opcodes.py")
    done = subprocess.run(
        [*interpreter(version), script, "--check"], stderr=subprocess.PIPE, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
