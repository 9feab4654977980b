"""The decoder against `dis`, and the generated opcode tables against their interpreters.

A sample of each standard library; `tests/library/check_decode.py VERSION` takes the whole of it.
"""

import subprocess
from pathlib import Path

import check_decode
import pytest
from needs import ROOT, VERSIONS, need

EVERY = 60


@pytest.mark.parametrize("version", VERSIONS)
def test_a_sample_of_the_standard_library_decodes_as_dis_shows_it(
    version: str, tmp_path: Path
) -> None:
    binary, python = Path(need("native")), str(need(f"python{version}"))
    check_decode.make_listings(python, tmp_path, ["--stdlib", "--every", str(EVERY)])
    figures = check_decode.compare(binary, tmp_path)
    assert figures.difference is None
    assert figures.codes > 100


@pytest.mark.parametrize("version", VERSIONS)
def test_the_opcode_table_is_what_the_interpreter_says(version: str) -> None:
    script = str(ROOT / "tools" / "gen_opcodes.py")
    command = [str(need(f"python{version}")), script, "--check"]
    done = subprocess.run(command, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0, done.stderr.decode()
