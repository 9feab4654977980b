# SPDX-License-Identifier: Apache-2.0
"""One code file to one row of the table, and the schema of the rows."""

import time
from pathlib import Path
from typing import Any, Dict, NamedTuple, Optional, Tuple

from pellucid import batch
from pellucid.inputs import Job

Row = Dict[str, Any]

SECONDS = "seconds"
"""The one column in which two runs differ."""
PYTHON = "python"
"""The column that the table is partitioned by: the folder of a part names it."""
UNKNOWN = "unknown"
"""The version of what could not be read."""


NOT_DONE = "not done after"
NO_MEMORY = "not enough memory"
ENDED = "the process that read it ended with"
LIMITED = (NOT_DONE, NO_MEMORY, ENDED)
"""How the error of a file begins that a limit stopped: it says more of the machine than of it."""


class Item(NamedTuple):
    """The bytes of one code file."""

    digest: str
    """SHA-256 of the bytes, in hexadecimal."""
    origin: str
    """Where they were found first: a path or an address, with the member of an archive."""
    data: bytes


class Limits(NamedTuple):
    """What one file may cost."""

    seconds: float
    memory: int
    """Bytes of address space of the process that decompiles."""


COLUMNS: Dict[str, Tuple[str, str]] = {
    "sha256": ("string", "SHA-256 of the file's bytes, in hexadecimal; unique"),
    "origin": (
        "string",
        "where the file was first found: path or URL, with the member of an archive",
    ),
    "size": ("int64", "bytes"),
    "outcome": (
        "string",
        "identical, equivalent, unproven, decompiled (not verified), incomplete (a function was "
        "not recovered) or error",
    ),
    "error": ("string", "why there is no source, with the byte offset; otherwise null"),
    "source": (
        "string",
        "Python source, with comments at functions that are not proven; null for an error",
    ),
    "lines": ("int32", "lines of the source"),
    "tier": ("string", "what was compared: recompiled or relowered; null if nothing was verified"),
    "reason": ("string", "where the first proof stops; null if all is proven"),
    "functions": (
        "list<struct<code: string, verdict: string, reason: string, offset: int64>>",
        "the verdict of each code object, in the order of the file",
    ),
    "diagnostics": (
        "list<struct<code: string, offset: int64, message: string, refused: bool>>",
        "what could not be recovered as usual; refused: there is no source for it",
    ),
    "notes": ("list<string>", "how the file was read, if that is unusual"),
    SECONDS: ("double", "how long decompiling and verifying took, in seconds"),
}
"""Name, type and meaning of each column; ``python`` (3.11, or unknown) is in the folders' names."""


def schema() -> Any:
    """Return the schema of a part as pyarrow has it."""
    import pyarrow as pa

    text, number = pa.string(), pa.int64()
    functions = pa.struct([("code", text), ("verdict", text), ("reason", text), ("offset", number)])
    diagnostics = pa.struct(
        [("code", text), ("offset", number), ("message", text), ("refused", pa.bool_())]
    )
    types = {
        "string": text,
        "int64": number,
        "int32": pa.int32(),
        "double": pa.float64(),
        "list<string>": pa.list_(text),
        COLUMNS["functions"][0]: pa.list_(functions),
        COLUMNS["diagnostics"][0]: pa.list_(diagnostics),
    }
    fields = [
        pa.field(name, types[kind], metadata={"about": about})
        for name, (kind, about) in COLUMNS.items()
    ]
    return pa.schema(fields)


def row_of(item: Item, tier: str) -> Row:
    """Decompile one file; what goes wrong with it is in the row.

    Args:
        item: the file.
        tier: how it is verified, as :class:`.batch.Options` has it; empty: not at all.
    """
    started = time.perf_counter()
    job = Job(Path(item.origin), None, None, lambda: item.data)
    result = batch.decompile_file(job, batch.Options(verify=tier, line_map=False))
    row = empty_row(item, result.outcome, result.error)
    row[SECONDS] = time.perf_counter() - started
    found, verdict = result.decompilation, result.verdict
    if found is not None:
        row[PYTHON] = "{}.{}".format(*found.version)
        row["source"] = _writable(found.source)
        row["lines"] = found.source.count("\n")
        row["notes"] = [_writable(note) for note in found.notes]
        row["diagnostics"] = [
            {
                "code": _writable(said.code),
                "offset": said.offset,
                "message": _writable(said.message),
                "refused": said.refused,
            }
            for said in found.diagnostics
        ]
    if verdict is not None:
        row["tier"] = verdict.tier
        row["reason"] = _writable(verdict.reason) if verdict.reason else None
        row["functions"] = [
            {
                "code": _writable(code.code),
                "verdict": code.status,
                "reason": _writable(code.reason) if code.reason else None,
                "offset": code.offset,
            }
            for code in verdict.codes
        ]
    return row


def empty_row(item: Item, outcome: str, error: Optional[str]) -> Row:
    """Return the row of a file of which nothing else is known."""
    row: Row = dict.fromkeys(COLUMNS)
    row.update(sha256=item.digest, origin=_writable(item.origin), size=len(item.data))
    row.update(outcome=outcome, error=None if error is None else _writable(error), seconds=0.0)
    row.update({"functions": [], "diagnostics": [], "notes": [], "lines": 0, PYTHON: UNKNOWN})
    return row


def _writable(text: str) -> str:
    """Return text that UTF-8 can hold: a lone surrogate becomes its escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
