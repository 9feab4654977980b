# SPDX-License-Identifier: Apache-2.0
"""Compare the logs of two runs under torch's ``DebugMode``: the first operation that differs.

A log is the text of ``DebugMode.debug_string()``, with the hashes of ``log_tensor_hashes()``.  The
two may be of different length: operations that only one of the runs has are counted, not compared.
"""

from __future__ import annotations

import difflib
import json
import math
import os
import re
from dataclasses import asdict, dataclass
from typing import Iterator

from pellucid.brief import counted
from pellucid.errors import NotALog

_OPERATION = re.compile(
    r"^ +(?P<name>\w+::[\w.]+)\((?P<given>.*?)\)"
    r"(?:  ->  (?P<result>.*?))?(?:  # (?P<hash>\{.*\}))?$"
)
_LINE = re.compile(r"^ +# (?:File: )?(?P<place>.+:\d+ in \S+?)(?:, code: (?P<code>.*))?$")
_MODULE = re.compile(r"^ +\[nn\.Mod[^\]]*\] (?P<name>\S+)$")
_HASH = re.compile(r"'hash': (.*)\}$")
_NUMBER = re.compile(r"-?(?:nan|inf|\d[\d.]*(?:e[+-]?\d+)?)")
_TENSOR = re.compile(r"t(?:\$\d+)?: (\w+)\[([\d, ]*)\]")
_RELATIVE = {"f64": 1e-7, "c128": 1e-7, "f16": 1e-2, "bf16": 3e-2}
"""The relative tolerance of a type, as in ``find_difference``; of the others, 1e-4."""
_SHOWN = 4
_MOST_EXACT = 20_000
"""The number of operations from which frequent ones are aligned by their neighbours alone."""


@dataclass(frozen=True)
class Logged:
    """One operation of a log."""

    operation: str
    """``aten::gelu``."""
    line: int
    """Its line in the log, counted from 1."""
    given: str
    """The kinds of its arguments and its result."""
    hashes: tuple[float, ...]
    """The sums of the absolute values of its results, or whatever the log holds."""
    tolerances: tuple[float, ...]
    """The largest distance of each two hashes that is rounding, beside their size."""
    relative: float
    place: str = ""
    """The line of the program, ``train.py:8 in step``; empty if the log has none."""
    code: str = ""
    module: str = ""

    def differs(self, other: Logged) -> bool:
        """Return true if the results differ by more than rounding."""
        if len(self.hashes) != len(other.hashes):
            return bool(self.hashes and other.hashes)
        pairs = zip(self.hashes, other.hashes, self.tolerances)
        return any(_far(a, b, self.relative, limit) for a, b, limit in pairs)


def _far(one: float, two: float, relative: float, absolute: float) -> bool:
    if math.isfinite(one) and math.isfinite(two):
        return abs(one - two) > relative * max(abs(one), abs(two)) + absolute
    return repr(one) != repr(two)


@dataclass(frozen=True)
class LogComparison:
    """Two logs, compared; true if an operation has different results."""

    logs: tuple[str, str]
    differ: tuple[tuple[Logged, Logged], ...]
    """The operations whose results differ, in order."""
    compared: int
    """The number of operations that both runs have, with hashes."""
    alone: tuple[int, int]
    """The number of operations that only one of them has."""

    def __bool__(self) -> bool:
        return bool(self.differ)

    def as_json(self) -> str:
        """Return all of it as JSON; the hashes are strings, since JSON has no NaN."""
        plain = asdict(self)
        for side in (side for pair in plain["differ"] for side in pair):
            side["hashes"] = list(map(repr, side["hashes"]))
            del side["tolerances"], side["relative"]
        return json.dumps({"tool": "pellucid", **plain}, indent=1, ensure_ascii=False) + "\n"

    def __str__(self) -> str:
        alone = " and ".join(
            f"{counted(many, 'operation')} only in {log}"
            for many, log in zip(self.alone, self.logs)
            if many
        )
        seen = f"{counted(self.compared, 'operation')} compared{f'; {alone}' if alone else ''}"
        if not self.differ:
            return f"no difference: {seen}"
        (one, two), later = self.differ[0], self.differ[1:]
        lines = [f"the first operation with different results: {one.operation}"]
        for sign, log, side in zip("-+", self.logs, (one, two)):
            hashes = ", ".join(f"{value:.9g}" for value in side.hashes)
            lines.append(f"  {sign} {log}:{side.line}  {hashes}")
        known = two if two.place else one
        code = f": {known.code}" if known.code else ""
        lines += [f"  your line    {known.place}{code}"] if known.place else []
        module = one.module or two.module
        lines += [f"  module       {module}"] if module else []
        names = ", ".join(first.operation for first, _ in later[:_SHOWN])
        more = f" and {len(later) - _SHOWN} more" if len(later) > _SHOWN else ""
        lines += [f"  later        {names}{more}"] if later else []
        return "\n".join([*lines, f"  looked at    {seen}"])


def is_log(path: str | os.PathLike[str]) -> bool:
    """Return true if a path is a file with operations that DebugMode logged."""
    if not os.path.isfile(path):
        return False
    with open(path, encoding="utf-8", errors="replace") as file:
        return next(_operations(file), None) is not None


def compare_logs(first: str | os.PathLike[str], second: str | os.PathLike[str]) -> LogComparison:
    """Compare the logs of two runs under ``torch.utils._debug_mode.DebugMode``.

    Raises:
        NotALog: a file is not such a log, or has no hashes.
        OSError: a file cannot be read.
    """
    one, two = _read(first), _read(second)
    for path, log in ((first, one), (second, two)):
        if not any(entry.hashes for entry in log):
            lacks = "no hashes of tensors" if log else "no operations of DebugMode"
            remedy = "write DebugMode.debug_string() to it, inside DebugMode.log_tensor_hashes()"
            raise NotALog(os.fspath(path), 0, f"{lacks}; {remedy}")
    mine, theirs = ([f"{entry.operation} {entry.given}" for entry in log] for log in (one, two))
    differ, compared, same = [], 0, 0
    matcher = difflib.SequenceMatcher(None, mine, theirs, autojunk=len(one) > _MOST_EXACT)
    for i, j, size in matcher.get_matching_blocks():
        same += size
        for pair in zip(one[i : i + size], two[j : j + size]):
            compared += bool(pair[0].hashes and pair[1].hashes)
            if pair[0].differs(pair[1]):
                differ.append(pair)
    names = os.fspath(first), os.fspath(second)
    return LogComparison(names, tuple(differ), compared, (len(one) - same, len(two) - same))


def _read(path: str | os.PathLike[str]) -> list[Logged]:
    with open(path, encoding="utf-8", errors="replace") as file:
        return list(_operations(file))


def _operations(lines: Iterator[str]) -> Iterator[Logged]:
    place = code = module = ""
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\n")
        if not text.strip() or text.lstrip().startswith("["):
            found = _MODULE.match(text)
            module = found["name"] if found else module
            continue
        found = _LINE.match(text)
        if found:
            place, code = found["place"], found["code"] or ""
            continue
        found = _OPERATION.match(text)
        if not found:
            continue
        result, hashed = found["result"] or "", _HASH.search(found["hash"] or "")
        values = [float(value) for value in _NUMBER.findall(hashed[1])] if hashed else []
        tensors = _TENSOR.findall(result)
        if tensors and len(values) == 2 * len(tensors):  # the norm, and a hash of the bits
            values = values[::2]
        limits = [1e-1 * _relative(kind) * _elements(shape) for kind, shape in tensors]
        limits = limits if len(limits) == len(values) else [0.0] * len(values)
        # Inductor calls the variant of an operation that writes its result to a buffer.
        name, given = found["name"], found["given"].partition(", out=")[0]
        given = _TENSOR.sub(r"\1[\2]", f"{given} -> {result}")
        relative = max((_relative(kind) for kind, _ in tensors), default=0.0)
        name = name[: -len(".out")] if name.endswith(".out") else name
        yield Logged(name, number, given, (*values,), (*limits,), relative, place, code, module)


def _relative(kind: str) -> float:
    return _RELATIVE.get(kind, 1e-4)


def _elements(shape: str) -> int:
    return math.prod(int(size) for size in shape.split(",") if size.strip())
