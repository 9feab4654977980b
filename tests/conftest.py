"""What holds for all tests: their order, the interpreters they ask, what a run says at its end."""

import contextlib
import os
import shutil
from typing import List

import pytest
import warm


def pytest_configure(config: pytest.Config) -> None:
    """Look for interpreters once, before tests run side by side, and take the compiler as it is.

    Each process of the tests and hundreds that they start would do it again, which takes 90
    processes and a quarter of a second where pyenv has a script on PATH for a version.
    """
    # Inductor compiles seven little programs to see what the compiler knows, for each empty cache:
    # four seconds, a hundred times. Here it is the compiler that pellucid was built with.
    os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "1")
    from pellucid.interpreters import find_interpreter
    from pythons import VERSIONS, minor, variable_of

    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        for version in VERSIONS:
            found = find_interpreter((3, minor(version)))
            if found:
                os.environ.setdefault(variable_of(version), str(found))


@pytest.fixture(scope="session", autouse=True)
def warm_folder(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Say where a Python that has imported torch is found by all processes that run tests."""
    base = tmp_path_factory.getbasetemp()
    base = base.parent if hasattr(pytestconfig, "workerinput") else base
    warm.FOLDER[:] = [base]
    # Inductor's kernels are linked with all of torch, of which gold reads a third as long.
    gold = shutil.which("ld.gold")
    if gold:
        with contextlib.suppress(FileExistsError):
            (base / "ld").symlink_to(gold)
        os.environ["COMPILER_PATH"] = str(base)


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
