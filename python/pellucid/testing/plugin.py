# SPDX-License-Identifier: Apache-2.0
"""The plugin for pytest: the fixture ``pellucid_capture``, and where captures and snapshots are.

pytest loads it at each start, so it imports what it needs on first use.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Collection, Iterator

import pytest

from . import dumps

if TYPE_CHECKING:
    from pellucid.dump.model.capture import Capture
    from pellucid.findings import Finding

SNAPSHOTS = "pellucid_snapshots"
"""The folder with the snapshots, next to the file of the tests."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("pellucid")
    group.addoption(
        "--pellucid-update",
        action="store_true",
        help="write the snapshots of pellucid_capture.assert_snapshot() instead of comparing them",
    )
    group.addoption(
        "--pellucid-out",
        metavar="DIR",
        help="the directory of captures of tests (default: pellucid in pytest's cache)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Choose the directory of the captures; it is created when it is needed."""

    def folder() -> Path:
        out = config.getoption("--pellucid-out")
        if out:
            return Path(config.invocation_params.dir, out)
        cache = getattr(config, "cache", None)  # None with -p no:cacheprovider
        return Path(cache.mkdir("pellucid") if cache else tempfile.mkdtemp(prefix="pellucid_"))

    dumps.folders.append(functools.lru_cache(None)(folder))


def pytest_unconfigure() -> None:
    """Forget the directory: pytest can run several times in one process."""
    dumps.folders.pop()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Drop torch's trace events from the log that a failed test shows.

    Since pytest 9.2 it captures loggers that do not propagate. These events have no text there, and
    hundreds of them would follow the message.
    """
    shown = [(title, _without_events(text)) for title, text in report.sections]
    report.sections = [(title, text) for title, text in shown if text.strip()]


def _without_events(text: str) -> str:
    return "".join(line for line in text.splitlines(True) if " torch.__trace:" not in line)


class CapturedTest:
    """The capture of one test; the fixture ``pellucid_capture`` returns it."""

    def __init__(self, directory: Path, snapshot: Path, node: str, updates: bool) -> None:
        self.directory = directory
        """The directory of the capture; ``pellucid.report`` writes its page."""
        self._snapshot = snapshot
        self._node = node
        self._updates = updates
        self._open = contextlib.ExitStack()
        self.is_told = False
        """Whether an error has shown the findings already."""

    def begin(self, command: tuple[str, ...], folder: str) -> None:
        """Begin the capture of a program that this command starts."""
        from pellucid.torch.api.fresh import captured_afresh

        session = self._open.enter_context(captured_afresh(self.directory))
        self.directory = session.directory
        session.command, session.folder = command, folder

    def end(self) -> None:
        """End the capture; a second call does nothing."""
        self._open.close()

    @property
    def captures(self) -> tuple[Capture, ...]:
        """End the capture, and return it, and those of child processes and ranks."""
        from pellucid.dump.store.load import load_all

        self.end()
        return load_all(self.directory)

    @property
    def has_compiled(self) -> bool:
        """End the capture, and return true if torch compiled something, or tried to."""
        from pellucid.findings.summary import has_compiled

        return has_compiled(self.captures)

    @property
    def findings(self) -> list[Finding]:
        """End the capture, and return its findings, the most severe first."""
        from pellucid.findings import find_all

        return find_all(self.captures)

    def assert_compiles(
        self,
        breaks: int = 0,
        recompiles: int = 0,
        graphs: int | None = None,
        allow: Collection[str] = (),
    ) -> None:
        """End the capture, and assert what the test compiled; see ``assert_compiles``."""
        __tracebackhide__ = True
        from .judging import Expected, told

        text = told(self.captures, Expected(breaks, recompiles, graphs, allow))
        if text:
            self.is_told = True
            raise AssertionError(text)

    def assert_snapshot(self) -> None:
        """End the capture, and assert that its findings are those of the snapshot.

        The snapshot is a file in ``pellucid_snapshots``, next to the file of the test.
        ``pytest --pellucid-update`` writes it.

        Raises:
            AssertionError: the findings differ, or there is no snapshot yet.
        """
        __tracebackhide__ = True
        from . import snapshots
        from .judging import where_to_look

        new = snapshots.take(self.captures)
        if self._updates:
            new.snapshot.write(self._snapshot)
            return
        update = f"pytest {shlex.quote(self._node)} --pellucid-update"
        name = os.path.relpath(self._snapshot)
        try:
            old = snapshots.read(self._snapshot)
        except ValueError as error:
            raise AssertionError(f"{error}. To write it again, run: {update}") from None
        if old is None:
            raise AssertionError(f"there is no snapshot {name} yet. To write it, run: {update}")
        if old.is_same(new.snapshot):
            return
        self.is_told = True
        lines = [f"the findings differ from {name}", ""]
        lines += [*snapshots.differences(old, new), ""]
        lines += filter(None, [snapshots.other_versions(old, new.snapshot)])
        lines.append(f"If this is intended, run: {update}")
        raise AssertionError("\n".join([*lines, *where_to_look(self.directory)]))


@pytest.fixture
def pellucid_capture(request: pytest.FixtureRequest) -> Iterator[CapturedTest]:
    """Capture what a test compiles, in a directory named after the test.

    Nothing is compiled when the test begins: ``torch.compiler.reset()`` is called first.
    """
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    item, config = request.node, request.config
    name = dumps.path_of(item.nodeid)
    snapshot = item.path.parent / SNAPSHOTS / name.parent.name / f"{name.name}.json"
    updates = config.getoption("--pellucid-update")
    captured = CapturedTest(dumps.new_dump(), snapshot, item.nodeid, updates)
    captured.begin(("-m", "pytest", item.nodeid), str(config.rootpath))
    failed = request.session.testsfailed
    yield captured
    if request.session.testsfailed > failed and not captured.is_told and captured.has_compiled:
        item.add_report_section("teardown", "pellucid", _summary(captured))
    captured.end()


def _summary(captured: CapturedTest) -> str:
    """Return a failed test's capture in a few lines, and how to open its page."""
    from pellucid.findings import find_all
    from pellucid.findings.summary import summary

    from .judging import where_to_look

    captures = captured.captures
    lines = [line.text for line in summary(captures, find_all(captures))]
    return "\n".join([*lines, *where_to_look(captured.directory), ""])
