"""Fixtures of the tests of the Python face and the engine."""

from typing import Tuple

import pytest
from needs import VERSIONS, need


@pytest.fixture(params=VERSIONS)
def any_python(request: pytest.FixtureRequest) -> Tuple[str, str]:
    """Each supported version with the path of its interpreter."""
    return request.param, str(need(f"python{request.param}"))


@pytest.fixture
def valgrind() -> None:
    """End the test where there is no valgrind to count instructions with."""
    need("valgrind")
