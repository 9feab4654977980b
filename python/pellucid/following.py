# SPDX-License-Identifier: Apache-2.0
"""Code in constants: `exec(marshal.loads(zlib.decompress(b"...")))`, without running any of it.

A constant, or several that follow each other, is unpacked through the layers that loaders put
around code (`layers.py`), in any order, until there is marshalled code or source text, which may
begin at any place in it. The result is searched in turn, text like code. All of this is bounded: in
depth, in bytes, and in attempts.
"""

import hashlib
import itertools
import re
from pathlib import Path
from typing import Callable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from pellucid import _core
from pellucid.errors import DecompileError
from pellucid.inputs import Job
from pellucid.layers import LAYERS, MOST_UNPACKED, TooMuch
from pellucid.source_constants import constants_of

LEAST = 40  # bytes of a constant; no code is shorter
LEAST_INSIDE = 16  # bytes of a layer, and of a part of a constant
MOST_LAYERS = 8  # around one code object
DEEPEST = 10  # levels of code in code
MOST_IN_ALL = 256 << 20  # bytes of all layers of one file
MOST_TRIES = 1000  # attempts per constant
MOST_FOUND = 1000  # per file

Version = Optional[Tuple[int, int]]


class Hidden(NamedTuple):
    """The content of a constant with its layers removed."""

    number: str  # "2.1": the first inside the second one of a file
    holder: str  # the path of the code object with the constant
    layers: Tuple[str, ...]  # from the outside in
    data: bytes
    is_code: bool  # otherwise source text

    @property
    def words(self) -> str:
        """Return the location: "<module>: base64, zlib"."""
        return f"{self.holder}: {', '.join(self.layers) or 'marshal'}"


class _Budget:
    """The remaining budget for one file."""

    def __init__(self) -> None:
        self.bytes = MOST_IN_ALL
        self.found = MOST_FOUND
        self.seen: Set[bytes] = set()

    def is_new(self, data: bytes) -> bool:
        key = hashlib.sha256(data).digest()
        is_new = key not in self.seen
        self.seen.add(key)
        return is_new


def hidden_in(data: bytes, version: Version = None) -> List[Hidden]:
    """Return the code in the constants of a file, and in the constants of that code.

    Raises DecompileError if the bytes do not contain a code object themselves.
    """
    return list(_hidden(data, version, "", DEEPEST, _Budget()))


def _hidden(
    data: bytes, version: Version, number: str, depth: int, budget: _Budget
) -> Iterator[Hidden]:
    header = _core.header_for(*_core.pyc_version(data) if version is None else version) or b""
    constants = _core.long_constants(data, 1, version)
    yield from _hidden_in_all(constants, header, number, depth, budget)


def _hidden_in_all(
    constants: "Sequence[tuple[str, str | bytes]]",
    header: bytes,
    number: str,
    depth: int,
    budget: _Budget,
) -> Iterator[Hidden]:
    count = 0
    for holder, run in _runs(constants):
        for layers, inner, is_code in _in_run(run, budget):
            if budget.found == 0:
                return
            budget.found -= 1
            count += 1
            name = f"{number}{count}"
            if is_code and inner[:1] in (b"\xe3", b"c"):
                inner = header + inner  # the version of its holder, unless that does not fit
            yield Hidden(name, holder, layers, inner, is_code)
            if depth == 1:
                continue
            if is_code:
                yield from _hidden(inner, None, f"{name}.", depth - 1, budget)
            else:
                within = [("the text", each) for each in constants_of(inner.decode("utf-8"))]
                yield from _hidden_in_all(within, header, f"{name}.", depth - 1, budget)


def _runs(
    constants: "Sequence[tuple[str, str | bytes]]",
) -> "Iterator[tuple[str, list[str | bytes]]]":
    """Yield parts that follow each other in one code object; the last may be short."""
    for key, group in itertools.groupby(constants, lambda each: (each[0], type(each[1]))):
        run: List[str | bytes] = []
        for _, value in group:
            if run or len(value) >= LEAST_INSIDE:
                run.append(value)
            if run and len(value) < LEAST_INSIDE:
                yield key[0], run
                run = []
        if run:
            yield key[0], run


_Found = Tuple[Tuple[str, ...], bytes, bool]


_Layered = Tuple[Tuple[str, ...], bytes]


def _in_run(run: "List[str | bytes]", budget: _Budget) -> List[_Found]:
    """Return what constants hold: each, or all of them joined, or from some place in one on."""
    tried: List[_Layered] = []
    found = [each for value in run for each in _unwrapped(value, budget, tried)]
    for end in (len(run), len(run) - 1):
        if not found and end > 1:
            joined = type(run[0])().join(run[:end])  # type: ignore[arg-type]
            found = _unwrapped(joined, budget, [])
    for layers, data in [] if found else tried:
        if layers[-1:] not in (("reversed",), ("rot13",)):
            inside = _core.code_within(data)
            found += [((*layers, f"at byte {at}"), code, True) for at, code in inside]
    return found


def _unwrapped(value: "str | bytes", budget: _Budget, tried: List[_Layered]) -> List[_Found]:
    """Return the content inside the layers of one constant, with as few layers as possible.

    What was unpacked is added to `tried`.
    """
    if len(value) < LEAST:
        return []
    if isinstance(value, str):
        try:
            start = value.encode("latin-1")
        except UnicodeEncodeError:
            return []
    else:
        start = value
    todo: List[_Layered] = [((), start)]
    tries = MOST_TRIES
    for layers, data in todo:  # todo grows during the loop
        if not budget.is_new(data):
            continue
        tried.append((layers, data))
        found = _finished(layers, data)
        if found is not None:
            return [found]
        if len(layers) == MOST_LAYERS:
            continue
        for name, unpack in LAYERS.items():
            if tries == 0 or budget.bytes <= 0:
                return []
            if name in ("reversed", "rot13") and name in layers[-2:]:
                continue
            tries -= 1
            try:
                inner = unpack(data)
            except TooMuch as bomb:
                budget.bytes -= bomb.size
                continue
            if inner is not None and len(inner) >= LEAST_INSIDE:
                budget.bytes -= len(inner)
                todo.append(((*layers, name), inner))
    return []


def _finished(layers: "Tuple[str, ...]", data: bytes) -> "Optional[_Found]":
    if (data[:1] in (b"\xe3", b"c") or data[2:4] == b"\r\n") and _core.holds_code(data):
        return layers, data, True
    unpacked = any(name not in ("reversed", "rot13") for name in layers)
    if unpacked and _is_source(data):
        return layers, data, False
    return None


_WORDS = re.compile(rb"\b(import|def|class|exec|eval|print|lambda|return)\b")


def _is_source(data: bytes) -> bool:
    """Return true if the bytes are text that contains Python keywords, and not an encoding."""
    if len(data) > MOST_UNPACKED or not _WORDS.search(data[:65536]):
        return False
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return all(c.isprintable() or c in "\n\r\t\f" for c in text[:65536])


# --- jobs --------------------------------------------------------------------------------------


def with_hidden(jobs: Sequence[Job], version: Version) -> Iterator[Job]:
    """Yield each job, followed by one for each code object hidden in its constants.

    The source of the second one in `mod.py` goes to `mod.2.py`.
    """
    for job in jobs:
        yield job
        try:
            found = hidden_in(job.read(), version)
        except (DecompileError, OSError, MemoryError):
            continue  # the job itself will report the error
        for hidden in found:
            out = beside(job.out, hidden.number) if job.out is not None else None
            member = f"{hidden.number} (in {hidden.words})"
            if job.member is not None:
                member = f"{job.member}/{member}"
            yield Job(job.path, out, member, _given(hidden.data), not hidden.is_code)


def _given(data: bytes) -> "Callable[[], bytes]":
    return lambda: data


def beside(out: Path, number: str) -> Path:
    """Return the path for the source of hidden code in a file.

    >>> beside(Path("a/mod.py"), "2.1").as_posix()
    'a/mod.2.1.py'
    """
    return out.with_name(f"{out.stem}.{number}{out.suffix}")
