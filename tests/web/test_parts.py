# SPDX-License-Identifier: Apache-2.0
"""The parts of the page that need no browser: types, layout, colours, addresses, archives."""

import shutil
import subprocess

import pytest
from needs import ROOT, missing

PAGE = ROOT / "web" / "page"


@pytest.mark.parametrize("script", ["check", "test"])
def test_the_parts_of_the_page(script: str) -> None:
    if shutil.which("npm") is None or not (PAGE / "node_modules").exists():
        missing("Node and what the page is built with (make web)")
    done = subprocess.run(
        ["npm", "run", "--silent", script], cwd=PAGE, stdout=subprocess.PIPE, text=True
    )
    assert done.returncode == 0, done.stdout
