"""The unit tests in C++, one pytest test each; `build/make/pellucid_tests NAME` runs one alone."""

import subprocess

import pytest
from needs import ROOT, need


def _names() -> "list[str]":
    binary = ROOT / "build" / "make" / "pellucid_tests"
    if not binary.exists():
        return []
    listed = subprocess.run([str(binary), "--list"], stdout=subprocess.PIPE, check=True)
    return listed.stdout.decode().splitlines()


@pytest.mark.parametrize("name", _names() or ["(not built)"])
def test_unit(name: str) -> None:
    done = subprocess.run(
        [str(need("unit")), name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")


def test_all_units_are_clean_under_the_sanitizers() -> None:
    binary = need("asan").parent / "pellucid_tests"
    done = subprocess.run(
        [str(binary)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-8000:]
