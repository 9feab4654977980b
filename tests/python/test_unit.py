"""The unit tests in C++ under the sanitizers, one run of all.

`build/asan/pellucid_tests NAME` runs those alone whose names have the word.
"""

import re
import subprocess
from pathlib import Path
from typing import Callable, List, NamedTuple

import pytest
from needs import need


class Run(NamedTuple):
    """What a run of the unit tests showed: how many ended, and the text of each that failed."""

    count: int
    failures: List[str]


def run_units(binary: Path) -> Run:
    """Run all unit tests in one process."""
    done = subprocess.run(
        [str(binary), "--announce"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    # Before each test comes its name; after its failures, a line that starts with FAILED.
    output = done.stdout.decode(errors="replace")
    start, *tests = re.split(r"^RUN ", output, flags=re.MULTILINE)
    failures = [test for test in tests if re.search(r"^FAILED ", test, re.MULTILINE)]
    summary = re.search(r"^(\d+) passed, (\d+) failed\n\Z", output, re.MULTILINE)
    if summary is None:
        last = tests[-1] if tests else f"(before the first test)\n{start}"
        name, _, said = last.partition("\n")
        failures.append(f"exit code {done.returncode} in {name}\n{said[-8000:]}")
        return Run(len(tests), failures)
    passed, failed = map(int, summary.groups())
    if len(tests) != passed + failed or len(failures) != failed or not tests:
        failures.append(f"{len(tests)} tests were started: {summary.group()}")
    if not failures and done.returncode != 0:
        failures.append(f"exit code {done.returncode} after all tests\n{output[-8000:]}")
    return Run(passed + failed, failures)


def test_all_units_are_clean_under_the_sanitizers(
    record_property: "Callable[[str, object], None]",
) -> None:
    run = run_units(Path(need("asan")).parent / "pellucid_tests")
    record_property("unit tests in C++", run.count)
    if run.failures:
        pytest.fail("\n".join(run.failures), pytrace=False)


@pytest.mark.parametrize(
    ("lines", "count", "failures"),
    [
        ("echo RUN a; echo RUN b; echo '2 passed, 0 failed'", 2, []),
        (
            "echo RUN a; echo a.cpp:1: x; echo FAILED a; echo 0 passed, 1 failed; exit 1",
            1,
            ["a\na.cpp:1: x\nFAILED a\n"],
        ),
        ("echo RUN a; echo RUN b; exit 3", 2, ["exit code 3 in b\n"]),
        ("echo RUN a; echo RUN b; exit 0", 2, ["exit code 0 in b\n"]),
        ("echo RUN a; echo '1 passed, 0 failed'; echo leak; exit 1", 1, ["exit code 1 in a\n1"]),
        ("echo '0 passed, 0 failed'", 0, ["0 tests were started"]),
        ("echo no such library; exit 127", 0, ["exit code 127 in (before the first test)\nno"]),
    ],
    ids=["passed", "failed", "crashed", "left", "leaked", "none", "not_started"],
)
def test_what_a_run_shows(tmp_path: Path, lines: str, count: int, failures: "List[str]") -> None:
    binary = tmp_path / "tests"
    binary.write_text(f"#!/bin/sh\n{lines}\n")
    binary.chmod(0o755)
    run = run_units(binary)
    assert run.count == count
    assert len(run.failures) == len(failures)
    for got, start in zip(run.failures, failures):
        assert got.startswith(start)
