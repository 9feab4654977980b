# SPDX-License-Identifier: Apache-2.0
"""Compare the logs of two runs under torch's ``DebugMode``: the first operation that differs.

A log is the text of ``DebugMode.debug_string()``, with the hashes of ``log_tensor_hashes()``.  The
two may be of different length: operations that only one of the runs has are counted, not compared.
"""

from __future__ import annotations

import functools
import json
import math
import os
import re
from dataclasses import asdict, dataclass
from typing import Callable, Hashable, Iterator

from pellucid.brief import counted
from pellucid.errors import NotALog

from .alignment import aligned

_OPERATION = re.compile(
    r"^(?P<indent> +)(?P<name>\w+::[\w.]+)\((?P<given>.*?)\)"
    r"(?:  ->  (?P<result>.*?))?(?:  # (?P<hash>\{.*\}))?$"
)
_LINE = re.compile(r"^ +# (?:File: )?(?P<place>.+:\d+ in \S+?)(?:, code: (?P<code>.*))?$")
_MODULE = re.compile(r"^(?P<indent> +)\[nn\.Mod[^\]]*\] (?P<name>\S+)$")
_HASH = re.compile(r"'hash': (.*)\}$")
_NUMBER = re.compile(r"-?(?:nan|inf|\d[\d.]*(?:e[+-]?\d+)?)")
_TENSOR = re.compile(r"t(?:\$\d+)?: (\w+)\[([\d, ]*)\]")
_RELATIVE = {"f64": 1e-7, "c128": 1e-7, "f16": 1e-2, "bf16": 3e-2}
"""The relative tolerance of a type, as in ``find_difference``; of other floating types, 1e-4."""
_EXACT = re.compile(r"(i|u|b)\d+")
"""Types of integers and booleans."""
_GENERATED = "<eval_with_key>"
"""The file of code that torch generated."""
_SHOWN = 4


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
    tolerances: tuple[tuple[float, float], ...]
    """The largest distance of each two hashes that is rounding: relative to their size, and
    absolute."""
    place: str = ""
    """The line of the program, ``train.py:8 in step``; empty if the log has none."""
    code: str = ""
    module: str = ""

    def differs(self, other: Logged) -> bool:
        """Return true if the results differ by more than rounding."""
        if len(self.hashes) != len(other.hashes):
            return bool(self.hashes and other.hashes)
        pairs = zip(self.hashes, other.hashes, self.tolerances)
        return any(_far(a, b, *limits) for a, b, limits in pairs)

    @property
    def kind(self) -> str:
        """The operation, with the kinds of its arguments and results."""
        return f"{self.operation} {self.given}"

    def token(self, offset: float) -> tuple[str, float | str]:
        """Return what is equal for operations of one kind with about the same result.

        Two results within rounding have the same token for one of the offsets 0 and 0.5.
        """
        value = self.hashes[0] if self.hashes else math.nan
        relative, absolute = self.tolerances[0] if self.hashes else (0.0, 0.0)
        if not relative or not 0 < relative * value + absolute < math.inf:
            return self.kind, repr(value)
        # Results within rounding are at most about 1 apart on this scale.
        return self.kind, math.floor(math.log(relative * value + absolute) / relative / 4 + offset)


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
            del side["tolerances"]
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
        for side in (two, one):
            if side.place and not side.place.startswith(_GENERATED):
                code = f": {side.code}" if side.code else ""
                lines.append(f"  your line    {side.place}{code}")
                break
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
        NotALog: a file is not such a log or has no hashes, or the logs have no operation in common.
        OSError: a file cannot be read.
    """
    one, two = _read(first), _read(second)
    for path, log in ((first, one), (second, two)):
        if not any(entry.hashes for entry in log):
            lacks = "no hashes of tensors" if log else "no operations of DebugMode"
            remedy = "write DebugMode.debug_string() to it, inside DebugMode.log_tensor_hashes()"
            raise NotALog(os.fspath(path), 0, f"{lacks}; {remedy}")

    def tokens(of: Callable[[Logged], Hashable]) -> tuple[list[Hashable], list[Hashable]]:
        return list(map(of, one)), list(map(of, two))

    levels = [tokens(functools.partial(Logged.token, offset=offset)) for offset in (0.0, 0.5)]
    levels.append(tokens(lambda entry: entry.kind))
    pairs = [(one[i], two[j]) for i, j in aligned(levels)]
    differ = [pair for pair in pairs if pair[0].differs(pair[1])]
    compared = sum(bool(mine.hashes and theirs.hashes) for mine, theirs in pairs)
    if not compared:
        told = f"no operation in common with {os.fspath(first)}; log the same program twice"
        raise NotALog(os.fspath(second), 0, told)
    names = os.fspath(first), os.fspath(second)
    alone = len(one) - len(pairs), len(two) - len(pairs)
    return LogComparison(names, tuple(differ), compared, alone)


def _read(path: str | os.PathLike[str]) -> list[Logged]:
    with open(path, encoding="utf-8", errors="replace") as file:
        return list(_operations(file))


def _operations(lines: Iterator[str]) -> Iterator[Logged]:
    place = code = ""
    modules: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\n")
        if not text.strip() or text.lstrip().startswith("["):
            found = _MODULE.match(text)
            if found:
                modules = _around(modules, len(found["indent"]))
                modules.append((len(found["indent"]), found["name"]))
            continue
        found = _LINE.match(text)
        if found:
            place, code = found["place"], found["code"] or ""
            continue
        found = _OPERATION.match(text)
        if not found:
            continue
        result, hashed = found["result"] or "", _HASH.search(found["hash"] or "")
        values = [_value(text) for text in _NUMBER.findall(hashed[1])] if hashed else []
        tensors = _TENSOR.findall(result)
        if tensors and len(values) == 2 * len(tensors):  # the norm, and a hash of the bits
            values = values[::2]
        limits = [_tolerance(*tensor) for tensor in tensors]
        if len(limits) != len(values):
            limits = [(max((relative for relative, _ in limits), default=0.0), 0.0)] * len(values)
        limits = [(0.0, 0.0) if isinstance(v, int) else limit for v, limit in zip(values, limits)]
        # Inductor calls the variant of an operation that writes its result to a buffer.
        name, given = found["name"], found["given"].partition(", out=")[0]
        given = _TENSOR.sub(r"\1[\2]", f"{given} -> {result}")
        name = name[: -len(".out")] if name.endswith(".out") else name
        modules = _around(modules, len(found["indent"]))
        module = modules[-1][1] if modules else ""
        yield Logged(name, number, given, (*values,), (*limits,), place, code, module)


def _value(text: str) -> float:
    """Return a hash: the norm of a tensor, or an integer of its bits."""
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _around(modules: list[tuple[int, str]], indent: int) -> list[tuple[int, str]]:
    """Return the modules around a line with this indentation."""
    return [(start, name) for start, name in modules if start < indent]


def _tolerance(kind: str, shape: str) -> tuple[float, float]:
    if _EXACT.fullmatch(kind):
        return 0.0, 0.0
    relative = _RELATIVE.get(kind, 1e-4)
    elements = math.prod(int(size) for size in shape.split(",") if size.strip())
    return relative, 1e-1 * relative * elements
