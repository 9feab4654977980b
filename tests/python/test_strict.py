"""`--verify=strict`: what a verdict compares on request, by each way to ask for it."""

import subprocess
import sys
from pathlib import Path
from typing import Tuple

import pytest
from needs import need
from pellucid import decompile_ex
from pellucid.__main__ import main as command_line

ONE_LINE = """def f():
    try:
        while True: pass
    except KeyError:
        return 1
"""
"""Up to 3.12 the jump of this loop is not protected, since it has no line of its own."""

LOOPS = """def f(x, y):
    try:
        for a in x:
            if a:
                continue
            while y:
                y -= 1
    except KeyError:
        return a
    finally:
        y = None
"""


def compiled(python: str, text: str, path: Path) -> Path:
    program = "import py_compile, sys; py_compile.compile(sys.argv[1], sys.argv[2], doraise=True)"
    path.with_suffix(".py").write_text(text)
    subprocess.run([python, "-c", program, str(path.with_suffix(".py")), str(path)], check=True)
    return path


@pytest.mark.parametrize("tier", ["strict", "relowered"])
def test_a_jump_that_is_protected_in_the_text_only_is_unproven(tier: str, tmp_path: Path) -> None:
    path = compiled(str(need("python3.11")), ONE_LINE, tmp_path / "f.pyc")
    out = str(tmp_path / "out.py")
    asked = ["decompile", str(path), "-o", out, "--force"]
    assert command_line([*asked, "--verify"]) == 0
    if tier == "strict":
        assert command_line([*asked, "--verify=strict"]) == 3
        assert "a jump back is not protected / is" in Path(out).read_text()
        return
    native = str(need("native"))
    assert subprocess.run([native, *asked], check=False).returncode == 0
    assert subprocess.run([native, *asked, "--verify=strict"], check=False).returncode == 3


def test_loops_as_people_write_them_are_proven(any_python: Tuple[str, str], tmp_path: Path) -> None:
    path = compiled(any_python[1], LOOPS, tmp_path / "f.pyc")
    assert (
        command_line(["decompile", str(path), "-o", str(path), "--force", "--verify=strict"]) == 0
    )


@pytest.mark.skipif(sys.version_info[:2] not in ((3, 11), (3, 12)), reason="the jump is protected")
def test_a_live_function_can_be_judged_strictly() -> None:
    code = compile(ONE_LINE, "f.py", "exec").co_consts[0]
    assert decompile_ex(code).verdict.at_least("equivalent")
    # A loop over a state has its jump outside of its `try`, too.
    strict = decompile_ex(code, verify="strict")
    assert strict.source != decompile_ex(code).source
    assert strict.verdict.at_least("equivalent")
    with pytest.raises(ValueError, match="strict"):
        decompile_ex(code, verify="relowered")
