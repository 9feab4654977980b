"""`--line-length`: where lines are broken, and that the text means the same."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from needs import VERSIONS, need
from oracle import pyc_of
from pellucid import decompile_pyc
from pellucid.__main__ import main

SOURCE = """\
from package import first_name, second_name, third_name, fourth_name, fifth_name, sixth_name

def f(first_argument, second_argument, third_argument, fourth_argument, fifth_argument):
    return first_argument(second_argument, third_argument, key=[fourth_argument, fifth_argument])
"""


@pytest.mark.parametrize("length", [60, 79, 88, 120])
def test_lines_are_as_long_as_asked(length: int) -> None:
    pyc = pyc_of(SOURCE, "3.11")
    text = decompile_pyc(pyc, line_length=length).source
    assert max(map(len, text.splitlines())) <= length
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(SOURCE))
    assert (text.count("\n") == 5) == (length > 100)


@pytest.mark.parametrize("version", VERSIONS)
def test_text_that_black_has_laid_out_comes_back(version: str) -> None:
    text = Path(__file__).with_name("laid_out_by_black.txt").read_text()
    assert decompile_pyc(pyc_of(text, version)).source == text


def test_the_commands_take_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "module.pyc"
    path.write_bytes(pyc_of(SOURCE, "3.11"))
    main(["decompile", "--line-length", "60", str(path)])
    said = capsys.readouterr().out
    assert said == decompile_pyc(path.read_bytes(), line_length=60).source
    command = [str(need("native")), "decompile", "--line-length=60", str(path)]
    assert subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode() == said


@pytest.mark.parametrize("wrong", ["0", "-1", "99999999999", "ten", ""])
def test_what_is_no_length_is_refused(wrong: str) -> None:
    for command in ([str(need("native"))], [sys.executable, "-m", "pellucid"]):
        done = subprocess.run(
            [*command, "decompile", f"--line-length={wrong}", "none.pyc"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert done.returncode == 2 and b"--line-length" in done.stderr, done
