# SPDX-License-Identifier: Apache-2.0
"""``pellucid textconv``: what git shows instead of the bytes of compiled Python.

git calls it with a file that has the old or new bytes, compares the two texts, and stops with an
error where the command fails.  So it always succeeds, says the same for the same bytes, and never
says what the file is called.
"""

import hashlib
from pathlib import Path
from typing import Iterator

from pellucid import batch
from pellucid.errors import printable
from pellucid.inputs import Job, jobs_of, search


def text_of(path: str) -> str:
    """Return the source of a file, or of all files of an archive; else what bytes it has.

    Raises:
        OSError: the file cannot be read.
    """
    data = Path(path).read_bytes()
    given, bad = search([path])
    jobs = jobs_of(given, None)
    if not jobs:
        return _bytes_of(data, bad[0][1] if bad else "no compiled Python in it")
    return "".join(_parts(data, jobs))


def _parts(data: bytes, jobs: "list[Job]") -> Iterator[str]:
    for job in jobs:
        result = batch.decompile_file(job, batch.Options(verify=""))
        head = f"# {printable(job.member)}\n" if job.member is not None else ""
        if result.decompilation is None:
            reason = result.error or ""
            yield head + (_bytes_of(data, reason) if job.member is None else f"# {reason}\n")
            continue
        major, minor = result.decompilation.version
        yield f"{head}# Python {major}.{minor}\n{result.decompilation.source}"


def _bytes_of(data: bytes, reason: str) -> str:
    """Return a text for bytes that are no code: it differs where they do."""
    digest = hashlib.sha256(data).hexdigest()
    return f"# no source: {reason}\n# {len(data)} bytes, SHA-256 {digest}\n"
