"""Values that wait on the stack while others are stored are stored in the code's own order."""

import subprocess
from pathlib import Path
from typing import Tuple

import pytest
from pellucid.decompilation import prove_pyc

SCRIPT = Path(__file__).with_name("waiting_stores.py")


@pytest.mark.parametrize("tier", ["recompiled", "relowered"])
def test_what_waits_is_stored_when_the_code_stores_it(
    any_python: Tuple[str, str], tier: str
) -> None:
    version, python = any_python
    data = subprocess.run([python, str(SCRIPT)], stdout=subprocess.PIPE, check=True).stdout
    found, verdict = prove_pyc(data, tier, version=(3, int(version.split(".")[1])))
    # The name in which a value waits keeps it until the end of the call, and nothing else differs.
    open_ = {code.reason for code in verdict.codes if code.status == "unproven"}
    assert all(why.startswith("what is released is ") for why in open_), (open_, found.source)
    assert "state_" not in found.source, found.source
