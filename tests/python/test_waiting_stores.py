"""Values that wait on the stack while others are stored are stored in the code's own order."""

import subprocess
from pathlib import Path
from typing import Set, Tuple

import pytest
from pellucid.decompilation import prove_pyc

SCRIPT = Path(__file__).with_name("waiting_stores.py")


def kept_longer(minor: int) -> Set[str]:
    """The functions whose text releases a value later; from 3.14 on the last slot comes first."""
    if minor >= 14:
        return {"beside_a_cell"}
    names = ["beside_an_attribute", "beside_an_item", "two_beside_an_attribute", "beside_a_cell"]
    return {*names, "many_locals", *(["two_locals", "three_locals"] if minor <= 10 else [])}


@pytest.mark.parametrize("tier", ["recompiled", "relowered"])
def test_what_waits_is_stored_when_the_code_stores_it(
    any_python: Tuple[str, str], tier: str
) -> None:
    version, python = any_python
    data = subprocess.run([python, str(SCRIPT)], stdout=subprocess.PIPE, check=True).stdout
    found, verdict = prove_pyc(data, tier, version=(3, int(version.split(".")[1])))
    # The name in which a value waits keeps it until the end of the call, and nothing else differs.
    left = {c.code.split("/")[-1]: c.reason for c in verdict.codes if c.status == "unproven"}
    assert set(left) == kept_longer(int(version.split(".")[1])), (left, found.source)
    assert all(why.startswith("what is released is ") for why in left.values()), left
    assert "state_" not in found.source, found.source
