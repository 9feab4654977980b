"""Change live code objects at random and decompile them: nothing may crash, hang or go wrong.

    fuzz_live.py --tries 200000                    # every host that is installed in build/hosts
    fuzz_live.py --versions 3.14 --seed 7 --tries 1000000
    fuzz_live.py --versions 3.14 --replay 7:81234  # one try again, in a process of its own

Bytes, constants (of every type), names, flags, counts and tables of functions, class bodies and
modules of the standard library are changed with `code.replace`, those of nested code too, and
handed to `decompile_ex`, with facts now and then. Each try is made from the seed and its number,
which a process writes down before it begins; a process that dies costs one try, which is reported.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import functools
import importlib.util
import mmap
import opcode
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import types
import warnings
from pathlib import Path
from typing import Any, Callable, Counter, Dict, List, Optional, Tuple

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = [f"3.{minor}" for minor in range(8, 16)]
MODULES = [
    *("argparse", "ast", "asyncio.tasks", "calendar", "codecs", "collections"),
    *("configparser", "contextlib", "copy", "csv", "dataclasses", "difflib"),
    *("dis", "enum", "fractions", "functools", "gettext", "gzip"),
    *("heapq", "inspect", "json.encoder", "locale", "optparse", "os"),
    *("pickle", "platform", "pprint", "random", "shlex", "shutil"),
    *("socket", "statistics", "string", "tarfile", "tempfile", "textwrap"),
    *("threading", "tokenize", "traceback", "types", "typing", "uuid"),
    *("warnings", "weakref", "zipfile"),
]

LARGEST = 500  # bytes of bytecode: a change does more in small functions, and they take less time
# CPython looks for the caches of the last instructions beyond the end of the bytecode.
UNTOUCHED = 30
SECONDS = 30  # for one try
MEMORY = 4 << 30
BATCH = 20_000

CodeType = types.CodeType

_INTERNAL = {
    number
    for name, number in opcode.opmap.items()
    if name.startswith(("INSTRUMENTED", "ENTER_EXECUTOR", "RESERVED", "TRACE_RECORD"))
}
# Beyond those that have names there are CPython's own, which look for what is not there.
_NAMED = [number for number in opcode.opmap.values() if number < 256 and number not in _INTERNAL]
_OPCODES = sorted(_NAMED)


class Text(str):
    """A subclass of what a literal writes."""


class Whole(int):
    """A subclass of what a literal writes."""


class Awkward:
    """An object that answers nothing as one would think."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("do not compare")

    def __hash__(self) -> int:
        return 7

    def __bool__(self) -> bool:
        raise ValueError("do not ask")

    def __getattr__(self, name: str) -> Any:
        raise ValueError("do not look")

    def __repr__(self) -> str:
        raise ValueError("do not print")


def _deep(depth: int) -> Any:
    value: Any = ()
    for _ in range(depth):
        value = (value,)
    return value


def _cyclic() -> Any:
    inner: List[Any] = []
    value = (inner,)
    inner.append(value)
    return value


def _nothing() -> None:
    return None


_CODE = _nothing.__code__
CONSTANTS: List[Any] = [
    *(
        None,
        True,
        False,
        ...,
        0,
        1,
        -1,
        255,
        256,
        -5,
        2**31,
        2**63,
        -(2**63),
        2**64,
        -(2**200),
        10**500,
    ),
    *(0.0, -0.0, 1.5, float("inf"), float("nan"), 1e308, 5e-324, 1j, -0j, complex("nan+infj")),
    *(
        "",
        "a",
        "x.y",
        "\0",
        "\ud800",
        "a\udfffb",
        "é",
        "\U0001f600",
        "class",
        "'\"\\\n",
        "%s",
        "{x}",
    ),
    *("a" * 3000, b"", b"\0\xff", b"x" * 3000, "__doc__", ".0", "f.<locals>.g", "*", "__class__"),
    *(
        (),
        (1,),
        ("a", "b"),
        ("x", 1),
        (None, (1, (2,))),
        ("\ud800",),
        (1, [2]),
        _deep(150),
        _deep(5000),
    ),
    *((_CODE,), (1, (_CODE,)), _CODE, _cyclic(), (...,), (True, 1, 1.0), ("",), ("*",), ("class",)),
    *(
        frozenset(),
        frozenset({1, 2}),
        frozenset({"a", (1, 2)}),
        frozenset({frozenset()}),
        (frozenset(),),
    ),
    *([], [1], {}, {1: 2}, set(), bytearray(b"x"), range(3), slice(1, 2, 3), slice(None), object()),
    *(
        Text("a"),
        Whole(3),
        Awkward(),
        (Awkward(),),
        len,
        iter,
        print,
        _nothing,
        lambda a, b: (b, a),
    ),
    *(int, type, Awkward, os, sys, NotImplemented, StopIteration, AssertionError, memoryview(b"a")),
]
NAMES = [
    *(
        "a",
        "b",
        "self",
        "x",
        "",
        ".0",
        "1",
        "class",
        "None",
        "a.b",
        "a-b",
        "\ud800",
        "\0",
        "é",
        "ﬁ",
    ),
    *(
        "__class__",
        "__debug__",
        "__doc__",
        "_",
        "*",
        ".type_params",
        ".generic_base",
        ".kwdefaults",
    ),
    *("AssertionError", "__annotate__", "locals", "super", "print", "n" * 400, "@py_assert1"),
]
CODE_NAMES = [
    *(
        "<lambda>",
        "<genexpr>",
        "<listcomp>",
        "<setcomp>",
        "<dictcomp>",
        "<module>",
        "<generic parameters of f>",
    ),
    *(
        "__annotate__",
        "f",
        "",
        "class",
        "\ud800",
        "a b",
        "<",
        "<locals>",
        "resume_in_<lambda>",
        "_",
        "T",
    ),
]
EDGES = [0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 254, 255]


class Changer:
    """Changes of one try: all that is random comes from its number."""

    def __init__(self, rng: random.Random, pool: List[CodeType]) -> None:
        self.rng = rng
        self.pool = pool

    def changed(self, code: CodeType, depth: int = 0) -> CodeType:
        """Return `code` with a few changes that CPython accepts."""
        changes: List[Callable[[CodeType, int], Dict[str, Any]]] = [
            *([self.bytecode] * 6),
            *([self.constants] * 3),
            *([self.nested] * 2),
            *([self.counts] * 2),
            *([self.flags] * 2),
            *([self.names] * 2),
            *([self.tables] * 2),
            self.titles,
            self.stranger,
        ]
        for _ in range(self.rng.choice([1, 1, 1, 2, 2, 3, 5])):
            change = self.rng.choice(changes)(code, depth)
            # CPython looks at it first.
            with contextlib.suppress(ValueError, TypeError, OverflowError, SystemError):
                code = code.replace(**change)
        return code

    def bytecode(self, code: CodeType, depth: int) -> Dict[str, Any]:
        """Change instructions, all but the last."""
        rng = self.rng
        units = bytearray(code.co_code)
        end = (len(units) - UNTOUCHED) // 2
        if end <= 0:
            return {}
        for _ in range(rng.choice([1, 1, 2, 3, 8])):
            at = 2 * rng.randrange(end)
            kind = rng.randrange(8)
            if kind <= 1:
                units[at] = rng.choice(_OPCODES)
            elif kind <= 3:
                units[at + 1] = rng.choice(EDGES) if rng.random() < 0.7 else rng.randrange(256)
            elif kind == 4:
                units[at : at + 2] = bytes([rng.choice(_OPCODES), rng.choice(EDGES)])
            elif kind == 5:
                other = 2 * rng.randrange(end)
                pair = units[at : at + 2], units[other : other + 2]
                units[other : other + 2], units[at : at + 2] = pair
            elif kind == 6:
                taken = rng.choice(self.pool).co_code
                start = 2 * rng.randrange(max(1, len(taken) // 2))
                piece = taken[start : start + 2 * rng.randrange(1, 12)][: 2 * end - at]
                units[at : at + len(piece)] = piece
            elif 2 * end - at > 12:
                count = 2 * rng.randrange(1, 6)
                units[at : at + count] = bytes([opcode.opmap["NOP"], 0]) * (count // 2)
        # Those that only CPython writes look for what it keeps beside the bytecode.
        for at in range(0, len(units), 2):
            if units[at] in _INTERNAL:
                units[at] = opcode.opmap["NOP"]
        return {"co_code": bytes(units)}

    def constants(self, code: CodeType, depth: int) -> Dict[str, Any]:
        """Put anything among the constants, or take some away."""
        rng = self.rng
        consts = list(code.co_consts)
        for _ in range(rng.choice([1, 1, 2, 4])):
            kind = rng.randrange(5)
            value = rng.choice(CONSTANTS)
            if kind <= 2 and consts:
                consts[rng.randrange(len(consts))] = value
            elif kind == 3:
                consts.insert(rng.randrange(len(consts) + 1), value)
            elif consts:
                del consts[rng.randrange(len(consts))]
        return {"co_consts": tuple(consts)}

    def nested(self, code: CodeType, depth: int) -> Dict[str, Any]:
        """Change a code object within."""
        consts = list(code.co_consts)
        places = [i for i, const in enumerate(consts) if isinstance(const, CodeType)]
        if not places or depth > 3:
            return self.bytecode(code, depth)
        place = self.rng.choice(places)
        consts[place] = self.changed(consts[place], depth + 1)
        return {"co_consts": tuple(consts)}

    def stranger(self, code: CodeType, depth: int) -> Dict[str, Any]:
        """Put another function in the place of one within, or of any constant."""
        consts = list(code.co_consts)
        if not consts:
            return {}
        places = [i for i, const in enumerate(consts) if isinstance(const, CodeType)]
        place = self.rng.choice(places or range(len(consts)))
        consts[place] = code if self.rng.random() < 0.1 else self.rng.choice(self.pool)
        return {"co_consts": tuple(consts)}

    def counts(self, code: CodeType, depth: int) -> Dict[str, Any]:
        """Change numbers."""
        rng = self.rng
        small = ["co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_nlocals"]
        field = rng.choice([*small, "co_stacksize", "co_firstlineno"])
        values = [-1, 0, 1, 2, 3, 7, 255, 65535, 2**31 - 1, -(2**31)]
        return {
            field: getattr(code, field) + rng.choice([-1, 1, 0])
            if rng.random() < 0.3
            else rng.choice(values)
        }

    def flags(self, code: CodeType, depth: int) -> Dict[str, Any]:
        """Change flags."""
        flags = code.co_flags
        for _ in range(self.rng.choice([1, 1, 2])):
            flags ^= 1 << self.rng.choice([*range(9), *range(9), *range(31)])
        return {"co_flags": flags}

    def names(self, code: CodeType, depth: int) -> Dict[str, Any]:
        """Change names, how many there are, or their order."""
        rng = self.rng
        field = rng.choice(["co_names", "co_varnames", "co_cellvars", "co_freevars"])
        names = list(getattr(code, field))
        kind = rng.randrange(5)
        if kind <= 1 and names:
            names[rng.randrange(len(names))] = rng.choice([*NAMES, *code.co_varnames])
        elif kind == 2:
            names.insert(rng.randrange(len(names) + 1), rng.choice([*NAMES, *code.co_varnames]))
        elif kind == 3 and names:
            del names[rng.randrange(len(names))]
        else:
            rng.shuffle(names)
        change: Dict[str, Any] = {field: tuple(names)}
        if field == "co_varnames" and rng.random() < 0.8:
            change["co_nlocals"] = len(names)
        return change

    def titles(self, code: CodeType, depth: int) -> Dict[str, Any]:
        """Change what it is called."""
        fields = ["co_name", "co_filename"] + ["co_qualname"] * (sys.version_info >= (3, 11))
        return {self.rng.choice(fields): self.rng.choice(CODE_NAMES)}

    def tables(self, code: CodeType, depth: int) -> Dict[str, Any]:
        """Change the tables of lines or of exceptions."""
        rng = self.rng
        fields = ["co_linetable" if sys.version_info >= (3, 10) else "co_lnotab"]
        fields += ["co_exceptiontable"] * 3 if sys.version_info >= (3, 11) else []
        field = rng.choice(fields)
        table = bytearray(getattr(code, field))
        for _ in range(rng.choice([1, 2, 5])):
            at = rng.randrange(len(table) + 1)
            kind = rng.randrange(4)
            if kind <= 1 and at < len(table):
                table[at] = rng.choice(EDGES) if kind else table[at] ^ 1 << rng.randrange(8)
            elif kind == 2:
                table[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 6)))
            else:
                del table[at : at + rng.randrange(1, 6)]
        return {field: bytes(table)}

    def facts(self, code: CodeType) -> "Optional[Dict[str, List[str]]]":
        """Say something of what the code uses, as of generated code."""
        if self.rng.random() < 0.7:
            return None

        def some(names: Tuple[str, ...]) -> List[str]:
            return [name for name in names if self.rng.random() < 0.6]

        facts = {"temporaries": some(code.co_varnames), "steady": some(code.co_names)}
        for kind in ["apart", "reads", "graphs", "objects", "makers"]:
            facts[kind] = [name for name in facts["steady"] if self.rng.random() < 0.4]
        facts["owned"] = some(code.co_names)
        facts["nested"] = [c.co_name for c in code.co_consts if isinstance(c, CodeType)]
        return facts


def seeds() -> List[CodeType]:
    """Return the code objects that are changed, in an order that every run has."""
    found: List[CodeType] = []
    for name in MODULES:
        try:
            spec = importlib.util.find_spec(name)
            code = spec.loader.get_code(name)  # type: ignore[union-attr]
        except (ImportError, AttributeError):
            continue
        todo = [code] if isinstance(code, CodeType) else []
        while todo:
            one = todo.pop()
            if 2 * UNTOUCHED < len(one.co_code) <= LARGEST:
                found.append(one)
            todo += [const for const in one.co_consts if isinstance(const, CodeType)]
    return found


def attempt(seed: int, number: int, pool: List[CodeType], begin: Callable[[], None]) -> str:
    """Make one try; say what became of it, or what is wrong."""
    from pellucid import DecompileError, decompile_ex

    changer = Changer(random.Random(f"{seed}:{number}"), pool)
    code = changer.changed(changer.rng.choice(pool))
    facts = changer.facts(code)
    begin()
    try:
        found = decompile_ex(code, facts=facts)
        verdict = found.verdict
    except DecompileError as error:
        return "refused" if error.code != "internal" else f"wrong: {error}"
    except Exception as error:
        return f"wrong: {type(error).__name__}: {error}"[:300]
    for diagnostic in found.diagnostics:
        if "check failed" in diagnostic.message:
            return f"wrong: {diagnostic.message}"
    if "check failed" in verdict.reason or verdict.tier == "none":
        return f"wrong: {verdict.reason}"
    # Code that nothing runs may be refused, and all the rest proven.
    refused = {diagnostic.code for diagnostic in found.diagnostics if diagnostic.refused}
    # Several may have one path.
    statuses = {one.code: set() for one in verdict.codes}
    for one in verdict.codes:
        statuses[one.code].add(one.status)
    if any("unproven" not in statuses.get(code, {"unproven"}) for code in refused):
        return "wrong: refused, and yet proven"
    if refused:
        return "refused"
    return verdict.status


def run_child(seed: int, first: int, last: int, place: str) -> None:
    """Make tries; `place` is a file that holds the number of the running one, and its phase."""
    import resource

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    pool = seeds()
    counts: Counter[str] = collections.Counter()
    with open(place, "r+b") as file:
        state = mmap.mmap(file.fileno(), 16)
        for number in range(first, last):
            state[:16] = struct.pack("<QQ", number, 0)
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            result = attempt(seed, number, pool, lambda: state.__setitem__(slice(8, 9), b"\1"))
            signal.setitimer(signal.ITIMER_REAL, 0)
            if result.startswith("wrong"):
                print(f"{number} {result!a}", flush=True)
                result = "wrong"
            counts[result] += 1
    for result, count in counts.items():
        print(f"= {result} {count}", flush=True)
    # A process has nothing left to do but to take apart what it made.
    sys.stdout.flush()
    os._exit(0)


def batch(python: str, seed: int, span: Tuple[int, int]) -> "Tuple[Counter[str], List[str]]":
    """Make the tries of a span, in as many processes as it takes."""
    counts: Counter[str] = collections.Counter()
    complaints: List[str] = []
    first, last = span
    while first < last:
        with tempfile.NamedTemporaryFile() as place, tempfile.TemporaryFile() as out:
            place.write(struct.pack("<QQ", first, 0))
            place.flush()
            command = [python, __file__, "--child", *map(str, (seed, first, last)), place.name]
            status = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                check=False,
            ).returncode
            number, phase = struct.unpack("<QQ", Path(place.name).read_bytes()[:16])
            out.seek(0)
            for line in out.read().decode().splitlines():
                if line.startswith("= "):
                    counts[line.split()[1]] += int(line.split()[2])
                else:
                    complaints.append(line)
            if status == 0:
                break
            if status > 0:
                raise SystemExit(f"fuzz_live: {' '.join(command)} ended with status {status}")
            what = "hang" if status == -signal.SIGALRM else "crash"
            if phase == 0:
                what = "crash of CPython's own"
            counts[what] += 1
            counts["(not counted: before a crash)"] += number - first
            complaints.append(f"{number} {what}: the process ended with status {status}")
            first = number + 1
    return counts, complaints


def host(version: str) -> Optional[str]:
    """Return the interpreter with pellucid of a version."""
    if version == "{}.{}".format(*sys.version_info[:2]):
        return sys.executable
    python = ROOT / "build" / "hosts" / version / "bin" / "python"
    return str(python) if python.exists() else None


def main() -> int:
    """Fuzz each host; print what went wrong, and counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--versions", nargs="+", default=VERSIONS)
    parser.add_argument("--tries", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first try")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--replay", help="SEED:NUMBER")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        run_child(*map(int, arguments.child[:3]), arguments.child[3])
    if arguments.one:
        seed, number = map(int, arguments.one.split(":"))
        print(attempt(seed, number, seeds(), lambda: print("begins", flush=True)).encode())
        return 0
    is_clean = True
    for version in arguments.versions:
        python = host(version)
        if python is None:
            print(f"{version}: pellucid is not installed there (build/hosts)")
            continue
        if arguments.replay:
            subprocess.run([python, "-X", "faulthandler", __file__, "--one", arguments.replay])
            continue
        end = arguments.first + arguments.tries
        spans = [(at, min(at + BATCH, end)) for at in range(arguments.first, end, BATCH)]
        counts: Counter[str] = collections.Counter()
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for some, complaints in pool.map(
                functools.partial(batch, python, arguments.seed), spans
            ):
                counts += some
                for complaint in complaints:
                    print(f"{version}: {arguments.seed}:{complaint}", flush=True)
        total = ", ".join(f"{count} {result}" for result, count in sorted(counts.items()))
        print(f"{version}: {arguments.tries} tries: {total}", flush=True)
        is_clean = is_clean and not any(counts[what] for what in ("crash", "hang", "wrong"))
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
