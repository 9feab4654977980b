"""What holds for all tests: the order in which they run."""

from typing import List

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: List[pytest.Item]) -> None:
    """Put the slow tests first: none of them is left alone at the end of a run side by side."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
