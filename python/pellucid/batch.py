# SPDX-License-Identifier: Apache-2.0
"""Decompile many files: write each source, print messages, and return the exit code."""

import concurrent.futures
import contextlib
import dataclasses
import json
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import (
    Any,
    Callable,
    Dict,
    Generator,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
)

from pellucid.certificate import certificate
from pellucid.decompilation import decompile_pyc, of_source, prove_pyc
from pellucid.errors import CannotPrint, DecompileError, NoCertificate, complain, printable
from pellucid.inputs import Job
from pellucid.result import Decompilation
from pellucid.summary import Summary, shown_progress
from pellucid.terminal import highlighted, interrupts_kept, is_terminal
from pellucid.verdicts import Verdict

T = TypeVar("T")

EXIT_OK = 0
EXIT_ERROR = 1  # a file could not be read, completely decompiled or written
EXIT_UNPROVEN = 3  # every file was decompiled, but at least one without a proof


class Options(NamedTuple):
    """The options that apply to every file."""

    verify: str = "best"  # the tier of validation, "best" for the best available; empty: none
    keep_lines: bool = False
    unstructured: bool = False
    version: Optional[Tuple[int, int]] = None  # the version to read every file as
    line_length: int = 100
    say_lost: bool = False
    says_verdict: bool = False  # for a single file, even if it is proven
    colours: bool = False  # print with terminal colours
    line_map: bool = True  # for verified files
    certificate: Optional[Path] = None  # where to write the certificate of a single file
    force: bool = False  # overwrite files that have different contents


class Result(NamedTuple):
    """The result for one file."""

    job: Job
    decompilation: Optional[Decompilation]
    verdict: Optional[Verdict]
    error: Optional[str]
    no_certificate: str = ""  # why there is none, if one was requested

    @property
    def outcome(self) -> str:
        """Return the worst outcome: the name of a row of the summary."""
        if self.error is not None:
            return "error"
        if self.decompilation is not None and any(
            diagnostic.refused for diagnostic in self.decompilation.diagnostics
        ):
            return "incomplete"
        return self.verdict.status if self.verdict is not None else "decompiled"

    @property
    def status(self) -> int:
        """Return the exit code for this file alone."""
        if self.outcome in ("error", "incomplete"):
            return EXIT_ERROR
        if self.outcome == "unproven":
            return EXIT_UNPROVEN
        return EXIT_ERROR if self.no_certificate else EXIT_OK


def decompile_file(job: Job, options: Options, stopped: Optional[threading.Event] = None) -> Result:
    """Decompile one file and write its source, if the job has a path and nothing stopped it."""
    try:
        data, verdict = job.read(), None
        how: Dict[str, Any] = {
            "keep_lines": options.keep_lines,
            "unstructured": options.unstructured,
            "version": options.version,
            "line_length": options.line_length,
            "say_lost": options.say_lost,
        }
        if job.is_source:
            found = of_source(data.decode("utf-8"))
        elif options.verify:
            found, verdict = prove_pyc(data, options.verify, line_map=options.line_map, **how)
        else:
            found = decompile_pyc(data, **how)
        marked = found.marked(verdict, options.keep_lines, job.about)
        if marked is not found.source:
            found = dataclasses.replace(found, source=marked)
        if job.out is not None:
            if not options.force and _has_other_text(job.out, found.source):
                why = f"{job.out} already exists. Pass --force to overwrite it"
                return Result(job, None, None, why)
            try:
                with _writing:
                    if stopped is None or not stopped.is_set():
                        write_whole(job.out, found.source)
            except OSError as error:
                why = f"{job.out} cannot be written: {_reason(error)}"
                return Result(job, None, None, why)
        why = ""
        if options.certificate is not None and verdict is not None:
            try:
                write_whole(options.certificate, certificate(data, found, verdict))
            except NoCertificate as error:
                why = str(error)
        return Result(job, found, verdict, None, why)
    except OSError as error:
        return Result(job, None, None, _reason(error))
    except DecompileError as error:
        return Result(job, None, None, str(error))
    except MemoryError:
        return Result(job, None, None, "not enough memory")


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _has_other_text(path: Path, text: str) -> bool:
    """Return true if a path is a file with different contents, perhaps edited by the user."""
    try:
        return path.is_file() and path.read_bytes() != text.encode("utf-8", "surrogatepass")
    except OSError:
        return True


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically.

    A link is kept, and its target is written; devices and pipes are written directly.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        return
    handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass", newline="\n") as file:
            file.write(text)
        os.chmod(unfinished, 0o666 & ~_UMASK)
        os.replace(unfinished, path)
    except BaseException:
        os.unlink(unfinished)
        raise


_writing = threading.Lock()
"""Held while a file is written, so that an early exit leaves no partial file."""


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# The mask belongs to the process: querying it changes it for other threads.
_UMASK = _umask()


def run(jobs: Sequence[Job], options: Options, workers: int, as_json: bool) -> int:
    """Run every job, print the results, and return the exit code."""
    status = EXIT_OK
    summary = Summary()
    # Output to the same terminal would break the progress bar.
    prints = as_json or any(job.out is None for job in jobs)
    hidden = prints and is_terminal()
    total = 0 if hidden else len(jobs)
    done = 0
    try:
        # Closed here and not by the garbage collector, where Ctrl-C would be lost.
        with contextlib.ExitStack() as stack:
            results = stack.enter_context(contextlib.closing(_results(jobs, options, workers)))
            shown = stack.enter_context(contextlib.closing(shown_progress(results, total)))
            for result in shown:
                if as_json:
                    print_json(result)
                else:
                    _print(result, len(jobs) == 1, options)
                if result.no_certificate:
                    complain(result.job.name, result.no_certificate)
                codes = result.verdict.codes if result.verdict else ()
                summary.add(result.outcome, [code.status for code in codes])
                # An error is worse than a missing proof, whatever the exit codes.
                if status == EXIT_OK or result.status == EXIT_ERROR:
                    status = result.status
                done += 1
    except KeyboardInterrupt:
        if len(jobs) > 1:
            print(f"pellucid: interrupted after {done} of {len(jobs)} files", file=sys.stderr)
        raise
    if len(jobs) > 1 and not as_json:
        summary.print()
    return status


def _results(jobs: Sequence[Job], options: Options, workers: int) -> Generator[Result, None, None]:
    stopped = threading.Event()

    def one(job: Job) -> Result:
        if stopped.is_set():
            return Result(job, None, None, "not done")
        return decompile_file(job, options, stopped)

    # Threads: the engine releases the GIL, and verifying waits for processes.  A single job also
    # runs in a thread, since Ctrl-C reaches the main thread only between calls.
    pool = concurrent.futures.ThreadPoolExecutor(max(1, min(workers, len(jobs))))
    try:
        with interrupts_kept():
            results = pool.map(one, jobs)
        yield from results
    except BaseException:
        # On Ctrl-C or a closed pipe, do not wait for the remaining jobs.
        stopped.set()
        if _writing.acquire(timeout=2):  # a pipe may have no reader
            _writing.release()
        raise
    finally:
        pool.shutdown(wait=False)


def import_nothing_from_here() -> None:
    """Keep processes that are started from now on from importing files of the current folder.

    It may be a folder of hostile files. ``multiprocessing`` starts ``python -c``, which searches it
    first. (Python 3.11 and newer; for older ones, see SECURITY.md)
    """
    os.environ["PYTHONSAFEPATH"] = "1"


def in_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Call an engine function such that Ctrl-C does not wait for it."""
    pool = concurrent.futures.ThreadPoolExecutor(1)
    try:
        with interrupts_kept():
            future = pool.submit(function, *arguments)
        return future.result()
    finally:
        pool.shutdown(wait=False)


def print_json(result: Result) -> None:
    """Print the result for one file as a line of JSON. Raises CannotPrint."""
    _put((json.dumps(_as_json(result)) + "\n").encode("ascii"))


def print_text(text: str) -> None:
    """Print lines of text. Raises CannotPrint."""
    _put(text.encode("utf-8", "backslashreplace"))


def _put(text: bytes) -> None:
    try:
        if sys.stdout is None:
            raise CannotPrint
        sys.stdout.buffer.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise  # the reader has seen enough, which is not an error
    except OSError as error:
        raise CannotPrint from error


def _print(result: Result, alone: bool, options: Options) -> None:
    if result.error is not None:
        complain(result.job.name, result.error)
        return
    assert result.decompilation is not None
    if result.job.out is None:
        text = ("" if alone else f"# {printable(result.job.name)}\n") + result.decompilation.source
        text = highlighted(text) if options.colours else text
        _put(text.encode("utf-8", "surrogatepass"))
    name = result.job.name
    for note in result.decompilation.notes:
        complain(name, note)
    for said in result.decompilation.diagnostics:
        kind = "" if said.refused else "without structure: "
        complain(name, f"{said.code}: {kind}{said.message} at byte 0x{said.offset:x}")
    renamed = result.decompilation.renamed
    if renamed:
        given, before = next(iter(renamed.items()))
        count = f"{len(renamed)}, {before[:80]!a} as {given}"
        complain(name, f"names that source code cannot spell were replaced: {count}")
    if result.verdict is not None:
        proven = str(result.verdict) if alone and options.says_verdict else ""
        said_of_it = _doubt(result.decompilation, result.verdict) or proven
        if said_of_it:
            complain(name, said_of_it)


def _doubt(found: Decompilation, verdict: Verdict) -> str:
    """Return one line on what is not proven.

    Bodies without source are left out: they have been reported already.
    """
    left = found.doubted(verdict)
    if left:
        more = f", and {len(left) - 1} more" if len(left) > 1 else ""
        return f"unproven: {left[0].place}{more}"
    # Without any code object, it could not be compared at all.
    has_codes = any(code.status == "unproven" for code in verdict.codes)
    return str(verdict) if verdict.status == "unproven" and not has_codes else ""


def _as_json(result: Result) -> "dict[str, object]":
    found, verdict, out = result.decompilation, result.verdict, result.job.out
    return {
        "file": result.job.name,
        "out": str(out) if out else None,
        "outcome": result.outcome,
        "error": result.error,
        "python": "{}.{}".format(*found.version) if found else None,
        "source": found.source if found and not out else None,
        "diagnostics": [list(d) for d in found.diagnostics] if found else [],
        "verdict": verdict.status if verdict else None,
        "reason": verdict.reason if verdict else None,
        "tier": verdict.tier if verdict else None,
        "renamed": found.renamed if found else {},
        "notes": list(found.notes) if found else [],
    }
