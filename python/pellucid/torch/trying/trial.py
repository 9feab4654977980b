# SPDX-License-Identifier: Apache-2.0
"""Trials of remedies: the program runs once without and once with each, in separate processes.

The user's files do not change. An edited file exists only in the memory of its trial
(:mod:`.child`), and the program runs in a temporary directory of links (:mod:`.working`).
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Callable, NamedTuple, Sequence

import pellucid
from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import Frame, Place, Source
from pellucid.dump.store.load import load_all
from pellucid.errors import CannotTry, NotADump
from pellucid.findings import Finding, find_all
from pellucid.findings.remedy import Remedy, Trial, option, setting, settings_in, tried
from pellucid.findings.remembered import remember

from .edits import DoesNotApply, apply
from .judged import Run, judged, outcome_of
from .server import Server

SECONDS = 300.0
"""The default time limit of one run of the program."""
_OURS = (
    "PELLUCID_DUMP",
    "PELLUCID_RUN",
    "PELLUCID_STARTED",
    "PELLUCID_PROGRESS",
    "PELLUCID_CALLS",
    "TORCH_TRACE",
)


class Program(NamedTuple):
    """A program that can be run again."""

    command: tuple[str, ...]
    """The script, or ``-m`` and the module, with its arguments."""
    folder: str
    """Its working directory."""


def try_remedy(
    directory: str | os.PathLike[str],
    remedy: Remedy | str,
    *,
    finding: Finding | None = None,
    program: Sequence[str] = (),
    seconds: float = SECONDS,
) -> Trial:
    """Run the program of a capture without and with a remedy, and compare.

    The program runs in a separate process, with a fixed seed. Your files are not modified: the
    remedy is applied to a copy, and the program runs in a temporary directory.

    Args:
        directory: the directory of the capture.
        remedy: one of a finding's ``remedies``, or as text: a setting
            (``"torch._dynamo.config.capture_scalar_outputs = True"``), an argument of
            ``torch.compile`` (``"dynamic=True"``), a variable of the environment (``"NAME=value"``)
            or a unified diff of one of the program's files.
        finding: the finding to remedy, which then shows the result in each view of the capture.
            If None, all findings count.
        program: the script, or ``-m`` and a module, with its arguments; if empty, what the capture
            recorded.
        seconds: the time limit of one run.

    Raises:
        NotADump: there is no readable capture.
        CannotTry: the remedy cannot be applied, or the program cannot be run.
    """
    captures = load_all(directory)
    applied = _read(remedy, captures) if isinstance(remedy, str) else remedy
    if applied.kind == "by hand":
        raise CannotTry(f"only by hand: {applied.words}")
    with _Trials(_program_of(captures, program), seconds) as trials:
        trial = trials.trial(applied, finding)
    if finding is not None:
        remember(captures[0].directory, [finding.with_remedies([tried(applied, trial)])])
    return trial


def try_all(
    captures: Sequence[Capture],
    findings: Sequence[Finding],
    program: Sequence[str] = (),
    seconds: float = SECONDS,
    tell: Callable[[str], None] = lambda text: None,
) -> list[Finding]:
    """Try each remedy of the findings; return them with the results, working remedies first.

    Args:
        captures: the capture, and those of other processes below it.
        findings: the findings in the captures.
        program: as for :func:`try_remedy`.
        seconds: the time limit of one run.
        tell: called with a description of each run before it begins.

    Raises:
        CannotTry: the program cannot be run.
    """
    wanted = dict.fromkeys(
        _applied(remedy) for found in findings for remedy in found.remedies if _can_apply(remedy)
    )
    if not wanted:
        return list(findings)
    with _Trials(_program_of(captures, program), seconds) as trials:
        tell("running the program as it is")
        _ = trials.before
        for number, remedy in enumerate(wanted, 1):
            tell(f"trying {number} of {len(wanted)}: {remedy.diff or remedy.code}".split("\n")[0])
            trials.run(remedy)
        return [
            found.with_remedies(
                [
                    tried(r, trials.trial(_applied(r), found)) if _can_apply(r) else r
                    for r in found.remedies
                ]
            )
            for found in findings
        ]


def _can_apply(remedy: Remedy) -> bool:
    return remedy.kind != "by hand" and remedy.trial is None


def _applied(remedy: Remedy) -> Remedy:
    """Return a remedy without its words, since several findings may share one."""
    diff = remedy.diff if remedy.kind == "edit" else ""
    return Remedy("", remedy.kind, remedy.code, diff, remedy.target)


_VARIABLE = re.compile(r"^[A-Z][A-Z0-9_]*(?:=.*)?$")
_ARGUMENT = re.compile(r"^\w+ ?=[^=].*$")


def _read(text: str, captures: Sequence[Capture]) -> Remedy:
    """Parse a remedy from text."""
    text = text.strip("\n")
    if re.search(r"^@@ ", text, re.MULTILINE):
        names = re.findall(r"^(?:---|\+\+\+) (\S+)", text, re.MULTILINE)
        files = {s.file for capture in captures for s in capture.of(Source)}
        for name in names:
            end = os.sep + re.sub(r"^[ab]/", "", name)
            fitting = [file for file in files if file.endswith(end) or file == name]
            if len(fitting) == 1:
                return Remedy(text, "edit", "", text, Place(fitting[0], 0))
        raise CannotTry("the diff names no file that the capture has")
    if settings_in(text) or text.startswith("torch."):
        return setting(text, "{}")
    if _VARIABLE.match(text):
        return Remedy(text, "environment", text)
    if _ARGUMENT.match(text):
        return option(text)
    raise CannotTry(
        f"not a remedy: {text!r}. Pass a setting, an argument of torch.compile, NAME=value, "
        "or a diff"
    )


def _program_of(captures: Sequence[Capture], given: Sequence[str]) -> Program:
    """Return the given program, or the one that a capture recorded."""
    recorded = next(
        (
            Program(command, folder)
            for command, folder in (
                *((c.started, c.started_in) for c in captures),
                *((c.command, c.folder) for c in captures if not _is_of_job(c)),
            )
            if command
        ),
        None,
    )
    folder = recorded.folder if recorded is not None else os.getcwd()
    command = tuple(given)
    if not command:
        if recorded is None:
            raise CannotTry(_NOT_RECORDED[any(map(_is_of_job, captures))])
        command = recorded.command
    elif command[0] != "-m":
        folder = os.getcwd()
        command = (os.path.abspath(command[0]), *command[1:])
    if command[0] == "-m" and len(command) < 2:
        raise CannotTry("-m needs the name of a module")
    if command[0] != "-m" and not os.path.isfile(command[0]):
        raise CannotTry(f"{command[0]}: no such file. Pass the program after --")
    if not os.path.isdir(folder):
        folder = os.getcwd()
    if importlib.util.find_spec("torch") is None:
        raise CannotTry("PyTorch is not installed. Install it with: pip install torch")
    return Program(command, folder)


_NOT_RECORDED = {
    False: "the capture does not record a program that can be run again. Pass it after --",
    True: "the capture does not record how its distributed job was started, or the job runs on "
    "several machines. Pass a launcher for this machine after --, for example: "
    "-m torch.distributed.run --nproc-per-node=2 train.py",
}


def _is_of_job(capture: Capture) -> bool:
    return bool(capture.world_size) or capture.rank is not None


class _Failed(Exception):
    """A run produced no answer; the message says why."""


class _Trials:
    """The runs of one program; each remedy runs once, whatever number of findings need it."""

    def __init__(self, program: Program, seconds: float) -> None:
        self._program, self._seconds = program, seconds
        self._root = Path(tempfile.mkdtemp(prefix="pellucid-try-"))
        self._runs: dict[Remedy | None, Run | str] = {}
        self._env = _environment()
        self._server = Server(self._env)

    def __enter__(self) -> _Trials:
        return self

    def __exit__(self, *error: object) -> None:
        self._server.end()
        shutil.rmtree(str(self._root), ignore_errors=True)

    @property
    def before(self) -> Run:
        """Return the run of the unmodified program."""
        found = self.run(None)
        if isinstance(found, str):
            raise CannotTry(f"the program, run again: {found}")
        return found

    def trial(self, remedy: Remedy, finding: Finding | None) -> Trial:
        """Return the result of a finding's remedy."""
        before, after = self.before, self.run(remedy)
        if isinstance(after, str):
            return Trial("suggestion", f"not tried: {after}")
        return judged(before, after, finding, _moved(remedy))

    def run(self, remedy: Remedy | None) -> Run | str:
        """Run the program; return why there is no answer if it failed."""
        if remedy not in self._runs:
            try:
                self._runs[remedy] = self._run(remedy)
            except _Failed as failure:
                self._runs[remedy] = str(failure)
        return self._runs[remedy]

    def _run(self, remedy: Remedy | None) -> Run:
        folder = self._root / str(len(self._runs))
        working = folder / "working"
        working.mkdir(parents=True)
        from .working import link_into

        link_into(self._program.folder, str(working))
        command = self._program.command
        script = os.path.dirname(command[0]) if command[0] != "-m" else self._program.folder
        order = {
            "command": command,
            "folder": self._program.folder,
            "working": str(working),
            "kept": [self._program.folder, script],
            "cache": str(folder / "cache"),
            "out": str(folder / "dump"),
            "results": str(self._root / "results.pt"),
            "remedy": None if remedy is None else asdict(remedy),
        }
        (folder / "order.json").write_text(json.dumps(order), encoding="utf-8")
        said = self._wait(folder, remedy)
        try:
            answers = [
                json.loads(file.read_text(encoding="utf-8"))
                for file in (folder / "answer.json", *sorted(folder.glob("answer-*.json")))
            ]
        except (OSError, ValueError) as error:
            raise _Failed(said or f"it gave no answer ({error})") from None
        refused = next((a["applied"] for a in answers if a["applied"]), "")
        if refused or all(a["idle"] for a in answers):
            raise _Failed(f"it could not be applied: {refused or answers[0]['idle']}")
        try:
            captures = _that_compiled(load_all(folder / "dump"))
        except NotADump as error:
            raise _Failed(said or f"it produced no capture ({error})") from None
        findings = tuple(find_all(captures))
        raised = next((a["raised"] for a in answers if a["raised"]), "")
        compared = [a for a in answers if a.get("compared")]
        most = max(compared, key=lambda a: float(a["difference"]), default=None)
        return Run(
            findings,
            outcome_of(captures, findings, answers[0]["seconds"], raised),
            sum(a["compared"] for a in compared),
            most and most["difference"],
            any(a["are_apart"] for a in compared),
            most["name"] if most else "",
        )

    def _wait(self, folder: Path, remedy: Remedy | None) -> str:
        """Wait for a run's process; return the last line of its standard error."""
        server = self._server
        if remedy is not None and remedy.kind == "environment":
            name, equals, value = remedy.code.partition("=")
            env = {k: v for k, v in self._env.items() if k != name}
            server = Server({**env, **({name: value} if equals else {})})
        try:
            status = server.run(folder / "order.json", self._seconds)
        except TimeoutError:
            raise _Failed(f"it did not finish within {self._seconds:g} s") from None
        finally:
            if server is not self._server:
                server.end()
        lines = (folder / "stderr").read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return last[:300] if last else f"it ended with status {status}"


def _that_compiled(captures: Sequence[Capture]) -> Sequence[Capture]:
    """Return the captures without those of processes that only start others."""
    return [c for c in captures if c.of(Frame)] or captures


def _environment() -> dict[str, str]:
    """Return the environment for a run of the program."""
    env = {k: v for k, v in os.environ.items() if k not in _OURS}
    env.setdefault("PYTHONHASHSEED", "0")
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    ours = os.path.dirname(os.path.dirname(os.path.abspath(pellucid.__file__)))
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [env.get("PYTHONPATH"), ours]))
    return env


def _moved(remedy: Remedy) -> Callable[[str, int], int]:
    """Return a map from a file's lines to their positions with a remedy applied."""
    target = remedy.target
    edited = None
    if remedy.kind == "edit" and target is not None:
        with contextlib.suppress(OSError, DoesNotApply):
            edited = apply(Path(target.file).read_text(encoding="utf-8"), remedy.diff)

    def moved(file: str, line: int) -> int:
        if edited is None or target is None or file != target.file:
            return line
        return edited.line(line)

    return moved
