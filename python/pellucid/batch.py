"""Decompile many files: where each result goes, what is said about it, and the exit status."""

import concurrent.futures
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Callable, Iterable, Iterator, List, NamedTuple, Optional, Sequence

from pellucid.decompile import Decompilation, Verdict, decompile_pyc
from pellucid.errors import DecompileError

EXIT_OK = 0
EXIT_ERROR = 1  # a file could not be read, wholly decompiled or written
EXIT_UNPROVEN = 3  # every file was decompiled, one at least without a proof (--verify)


class Result(NamedTuple):
    """What became of one file."""

    path: Path
    out: Optional[Path]
    decompilation: Optional[Decompilation]
    verdict: Optional[Verdict]
    error: Optional[str]


class Job(NamedTuple):
    """A file and where its source goes (None: standard output)."""

    path: Path
    out: Optional[Path]


def jobs_of(inputs: Sequence[str], out: Optional[str]) -> List[Job]:
    """Return a job for each `.pyc` file, those below folders among them.

    With several files, or a folder, `out` is a folder that mirrors the input's tree.
    """
    many = len(inputs) > 1 or any(os.path.isdir(path) for path in inputs)
    jobs = []
    for given in map(Path, inputs):
        for path in sorted(given.rglob("*.pyc")) if given.is_dir() else [given]:
            target: Optional[Path] = Path(out) if out else None
            if target is not None and (many or target.is_dir()):
                inside = path.relative_to(given) if given.is_dir() else Path(path.name)
                target = target / inside.with_suffix(".py")
            jobs.append(Job(path, target))
    return jobs


def decompile_file(job: Job, verify: bool) -> Result:
    """Decompile one file and write its source, if the job says where."""
    try:
        found = decompile_pyc(job.path.read_bytes())
        verdict = found.verdict if verify else None
        if job.out is not None:
            write_whole(job.out, found.source)
        return Result(job.path, job.out, found, verdict, None)
    except OSError as error:
        return Result(job.path, job.out, None, None, (error.strerror or str(error)).lower())
    except DecompileError as error:
        return Result(job.path, job.out, None, None, str(error))
    except MemoryError:
        return Result(job.path, job.out, None, None, "not enough memory")


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass", newline="\n") as file:
            file.write(text)
        os.chmod(unfinished, 0o666 & ~_umask())
        os.replace(unfinished, path)
    except BaseException:
        os.unlink(unfinished)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def run(jobs: Sequence[Job], verify: bool, workers: int, as_json: bool) -> int:
    """Do every job, print what there is to print, and return the exit status."""
    status = EXIT_OK
    for result in _shown_progress(_results(jobs, verify, workers), len(jobs)):
        if as_json:
            print(json.dumps(_as_json(result)), flush=True)
        else:
            _print(result, alone=len(jobs) == 1)
        if result.error is not None or (result.decompilation and result.decompilation.diagnostics):
            status = EXIT_ERROR
        elif (
            verify and status == EXIT_OK and result.verdict and result.verdict.status == "unproven"
        ):
            status = EXIT_UNPROVEN
    return status


def _results(jobs: Sequence[Job], verify: bool, workers: int) -> Iterator[Result]:
    if workers <= 1 or len(jobs) <= 1:
        yield from (decompile_file(job, verify) for job in jobs)
        return
    # Threads: the engine works without the interpreter lock, and verifying waits for processes.
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        yield from pool.map(lambda job: decompile_file(job, verify), jobs)


def _shown_progress(results: Iterable[Result], total: int) -> Iterable[Result]:
    if total < 10 or not sys.stderr.isatty():
        return results
    import rich.console
    import rich.progress

    console = rich.console.Console(stderr=True)
    return rich.progress.track(results, "decompiling", total=total, console=console, transient=True)


def _print(result: Result, alone: bool) -> None:
    complain: Callable[[str], None] = lambda text: print(  # noqa: E731
        f"pellucid: {result.path}: {text}", file=sys.stderr
    )
    if result.error is not None:
        complain(result.error)
        return
    assert result.decompilation is not None
    if result.out is None:
        header = "" if alone else f"# {result.path}\n"
        text = (header + result.decompilation.source).encode("utf-8", "surrogatepass")
        sys.stdout.buffer.write(text)
        sys.stdout.flush()
    for diagnostic in result.decompilation.diagnostics:
        complain(f"{diagnostic.code}: {diagnostic.message} at byte 0x{diagnostic.offset:x}")
    if result.verdict is not None:
        complain(str(result.verdict))


def _as_json(result: Result) -> "dict[str, object]":
    found, verdict = result.decompilation, result.verdict
    return {
        "file": str(result.path),
        "out": str(result.out) if result.out else None,
        "error": result.error,
        "python": "{}.{}".format(*found.version) if found else None,
        "source": found.source if found and not result.out else None,
        "diagnostics": [list(d) for d in found.diagnostics] if found else [],
        "verdict": verdict.status if verdict else None,
        "reason": verdict.reason if verdict else None,
        "tier": verdict.tier if verdict else None,
    }
