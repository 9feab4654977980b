"""Processes that share the work import nothing from the current folder, which may be hostile."""

import os
import subprocess
import sys

import pytest
from case_pycs import unpack
from needs import need

MAIN = """\
import sys
from pellucid.__main__ import main
if __name__ == "__main__":
    sys.exit(main())
"""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="these versions of Python cannot do without")
@pytest.mark.parametrize("command", [["match"], ["corpus", "-o", "table"]])
def test_a_module_of_the_current_folder_is_not_run(command, tmp_path):
    if "corpus" in command:
        for name in ("pyarrow", "fsspec", "pebble"):
            need(name)
    folder = tmp_path / "hostile"
    (folder / "files").mkdir(parents=True)
    unpack("3.12", folder / "files", "loops/*")
    for name in ("struct", "signal", "runpy"):
        (folder / f"{name}.py").write_text("open('it ran', 'w').close()\n")
    script = tmp_path / "pellucid"  # as a wheel installs it
    script.write_text(MAIN)
    done = subprocess.run(
        [sys.executable, str(script), *command, "--jobs", "2", "files"],
        cwd=str(folder),
        env={k: v for k, v in os.environ.items() if k != "PYTHONSAFEPATH"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert done.returncode in (0, 3), done.stderr
    assert not (folder / "it ran").exists()
