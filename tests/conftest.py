"""What holds for all tests: the order in which they run, and what else the end of a run says."""

from typing import List

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: List[pytest.Item]) -> None:
    """Put the slow tests first: none of them is left alone at the end of a run side by side."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_terminal_summary(terminalreporter: "pytest.TerminalReporter") -> None:
    """Show the numbers that tests have recorded, such as how many tests a binary ran."""
    for reports in list(terminalreporter.stats.values()):
        for report in reports:
            if isinstance(report, pytest.TestReport) and report.when == "call":
                for what, number in report.user_properties:
                    terminalreporter.write_line(f"{report.nodeid}: {number} {what}")
