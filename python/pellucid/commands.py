# SPDX-License-Identifier: Apache-2.0
"""What the commands that read files of code do: `decompile`, `dis`, `dump` and `inspect`."""

import argparse
import sys
from pathlib import Path
from typing import Collection, List, Optional, Tuple

from pellucid import _core, batch, following, inspection, loading
from pellucid.errors import DecompileError, complain, printable
from pellucid.inputs import Job, jobs_of, search


def _jobs(
    arguments: argparse.Namespace,
    out: Optional[str],
    as_json: bool = False,
    shown: Collection[str] = (),
) -> Tuple[List[Job], int]:
    """Return the jobs of the inputs that can be looked into, and the exit code so far.

    An input that has been `shown` need not contain code.
    """
    inputs, bad = search(arguments.inputs, arguments.carve)
    bad = [(given, reason) for given, reason in bad if given not in shown]
    for given, reason in bad:
        if as_json:
            batch.print_json(batch.Result(Job(Path(given), None), None, None, reason))
        else:
            complain(given, reason)
    return jobs_of(inputs, out), batch.EXIT_ERROR if bad else batch.EXIT_OK


def decompile(arguments: argparse.Namespace) -> int:
    """Run `pellucid decompile`; return its exit code."""
    try:
        jobs, status = _jobs(arguments, arguments.out, arguments.json)
    except DecompileError as error:
        print(f"pellucid: {error.message}", file=sys.stderr)
        return 2
    if arguments.follow:
        jobs = list(following.with_hidden(jobs, arguments.python_version))
    tier = "best" if arguments.verify is None else arguments.verify
    options = batch.Options(
        tier,
        arguments.keep_lines,
        arguments.unstructured,
        arguments.python_version,
        line_length=arguments.line_length,
        say_lost=arguments.say_lost,
        says_verdict=bool(arguments.verify),
        colours=arguments.colours,
        certificate=Path(arguments.certificate) if arguments.certificate else None,
        force=arguments.force,
    )
    if options.certificate and (len(jobs) > 1 or not options.verify):
        why = "takes a single input" if len(jobs) > 1 else "cannot be used with --no-verify"
        print(f"pellucid: --certificate {why}", file=sys.stderr)
        return 2
    return (batch.run(jobs, options, arguments.jobs, arguments.json) if jobs else status) or status


def dump(arguments: argparse.Namespace) -> int:
    """Run `pellucid dump` or `pellucid dis`; return the exit code."""
    jobs, status = _jobs(arguments, None)
    for job in jobs:
        try:
            text = batch.in_thread(
                _core.dump_pyc, job.read(), arguments.stage, arguments.python_version
            )
            if len(jobs) > 1:
                text = f"# {printable(job.name)}\n{text}"
            sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
        except BrokenPipeError:
            raise
        except OSError as error:
            complain(job.name, (error.strerror or "").lower())
            status = batch.EXIT_ERROR
        except DecompileError as error:
            complain(job.name, str(error))
            status = batch.EXIT_ERROR
    return status


def inspect(arguments: argparse.Namespace) -> int:
    """Run `pellucid inspect`; return its exit code."""
    shown = set()
    for given in arguments.inputs if not arguments.carve else ():
        for path, load, text in loading.loads_in(given):
            shown.add(given)
            batch.print_text(loading.as_json(path, load) if arguments.json else text)
    jobs, status = _jobs(arguments, None, shown=shown)
    for job in jobs:
        report = batch.in_thread(inspection.inspect_job, job, arguments.python_version)
        if report["error"] is not None:
            status = batch.EXIT_ERROR
        if arguments.json:
            batch.print_text(inspection.as_json(report))
        elif report["error"] is not None:
            complain(job.name, report["error"])
        else:
            batch.print_text(inspection.as_text(report))
    return status
