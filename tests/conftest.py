"""Shared fixtures. This file also puts tests/ on the path, for `from needs import need`."""

import pytest
from needs import VERSIONS, need


@pytest.fixture(params=VERSIONS)
def any_python(request: pytest.FixtureRequest) -> "tuple[str, str]":
    """Each supported version with the path of its interpreter."""
    return request.param, str(need(f"python{request.param}"))
