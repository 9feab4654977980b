"""The examples in the docstrings are true."""

import doctest
import importlib
import pkgutil
from typing import List

import pellucid
import pytest
from needs import ROOT, need


def _modules() -> List[str]:
    found = pkgutil.walk_packages(pellucid.__path__, "pellucid.")
    return sorted(m.name for m in found if not m.name.endswith(("._core", ".__main__")))


@pytest.mark.parametrize("name", _modules())
def test_examples_of(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        need(str(error.name))
        raise
    assert doctest.testmod(module).failed == 0


def test_examples_of_the_readme() -> None:
    assert doctest.testfile(str(ROOT / "README.md"), module_relative=False).failed == 0
