"""The rules that keep the layers apart, and the checker that holds them."""

import subprocess
import sys

from needs import ROOT


def test_no_include_or_import_crosses_the_layers() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "check_layers.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode()


def test_importing_pellucid_imports_no_torch() -> None:
    probe = "import pellucid, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0
