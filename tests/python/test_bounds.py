"""Time and memory are bounded for every input, however small files say much.

Each input is decompiled by a process of its own that may take no more memory and processor time
than is set here; both are several times what it takes. What is too much is an error, of the file or
of one place, and never the end of the process by a signal. SECURITY.md states the bounds.
"""

import marshal
import resource
import struct
import subprocess
from pathlib import Path
from typing import Callable, Dict, List, Sequence

import pytest
from needs import ROOT, need

MEMORY = 1 << 30
SECONDS = 40
LONGEST = 20 << 20  # bytes of text

# CPython 3.11's numbers.
RESUME, LOAD_CONST, MAKE_FUNCTION, STORE_NAME, RETURN_VALUE = 151, 100, 132, 90, 83
STORE_GLOBAL = 97
LOAD_FAST, STORE_FAST, BUILD_TUPLE, JUMP_FORWARD, BRANCH = 124, 125, 102, 110, 114
EXTENDED_ARG, POP_TOP, UNKNOWN = 144, 1, 250
REF = 0x80


def raw(data: bytes) -> bytes:
    return b"s" + struct.pack("<i", len(data)) + data


def text(name: str) -> bytes:
    return b"z" + bytes([len(name)]) + name.encode()


def items(values: Sequence[bytes]) -> bytes:
    return b"(" + struct.pack("<i", len(values)) + b"".join(values)


def reference(index: int) -> bytes:
    return b"r" + struct.pack("<i", index)


def code(
    body: Sequence[int],
    consts: Sequence[bytes] = (),
    names: Sequence[str] = (),
    local: Sequence[str] = (),
    name: str = "f",
    flags: int = 3,
    mark: int = 0,
) -> bytes:
    """Return a marshalled code object of 3.11, whose locals are arguments."""
    head = struct.pack("<5i", len(local), 0, 0, 9, flags)
    return b"".join(
        [
            bytes([ord("c") | mark]),
            head,
            raw(bytes(body)),
            items(consts),
            items([text(each) for each in names]),
            items([text(each) for each in local]),
            raw(b"\x20" * len(local)),
            *(text("x.py"), text(name), text(name)),
            struct.pack("<i", 1),
            raw(b"") * 2,
        ]
    )


def module(value: bytes, makes: bool = True) -> bytes:
    """Return a file whose module binds one value: a constant, or a function of a code object."""
    make = [MAKE_FUNCTION, 0] if makes else []
    body = [RESUME, 0, LOAD_CONST, 0, *make, STORE_NAME, 0, LOAD_CONST, 1, RETURN_VALUE, 0]
    root = code(body, [value, b"N"], ["x"], name="<module>", flags=0)
    return struct.pack("<H", 3495) + b"\r\n" + bytes(12) + root


def function(body: List[int]) -> bytes:
    whole = [RESUME, 0, *body, LOAD_CONST, 0, RETURN_VALUE, 0]
    return module(code(whole, [b"N"], local=["a", "b", "c"]))


LEAF = code([RESUME, 0, LOAD_CONST, 0, RETURN_VALUE, 0], [b"N"], name="<lambda>")


def used_twice(levels: int) -> bytes:
    """Each function makes two of the one code object inside: the text doubles at each level."""
    inner = LEAF
    body = [RESUME, 0, *[LOAD_CONST, 0, MAKE_FUNCTION, 0] * 2, BUILD_TUPLE, 2, RETURN_VALUE, 0]
    for _ in range(levels):
        inner = code(body, [inner], name="<lambda>")
    return module(inner)


def held_twice(levels: int) -> bytes:
    """Each function holds one code object, and another one that holds it too."""
    inner = code([RESUME, 0, LOAD_CONST, 0, RETURN_VALUE, 0], [b"N"], name="<lambda>", mark=REF)
    makes = [LOAD_CONST, 0, MAKE_FUNCTION, 0]
    for level in range(levels):
        # Outer ones are numbered first.
        other = code(
            [RESUME, 0, *makes, RETURN_VALUE, 0], [reference(levels - level)], name="<lambda>"
        )
        body = [RESUME, 0, *makes, LOAD_CONST, 1, MAKE_FUNCTION, 0, BUILD_TUPLE, 2, RETURN_VALUE, 0]
        inner = code(body, [inner, other], name="<lambda>", mark=REF)
    return module(inner)


def tuples(levels: int) -> bytes:
    """A tuple of a tuple twice, of a tuple twice, ..."""
    inner = bytes([ord(")") | REF, 1]) + b"N"
    for level in range(levels):
        inner = bytes([ord(")") | REF, 2]) + inner + reference(levels - level)
    return module(inner, makes=False)


def nested(levels: int) -> bytes:
    inner = LEAF
    body = [RESUME, 0, LOAD_CONST, 0, MAKE_FUNCTION, 0, RETURN_VALUE, 0]
    for _ in range(levels):
        inner = code(body, [inner], name="<lambda>")
    return module(inner)


def loads_of_a_long_constant() -> bytes:
    value = marshal.dumps("x" * 200_000, 2)
    body = [LOAD_CONST, 1, STORE_FAST, 0] * 10_000
    whole = [RESUME, 0, *body, LOAD_CONST, 0, RETURN_VALUE, 0]
    return module(code(whole, [b"N", value], local=["a"]))


def uses_of_a_long_name() -> bytes:
    name = b"a" + struct.pack("<i", 200_000) + b"x" * 200_000
    body = [LOAD_CONST, 0, STORE_GLOBAL, 0] * 10_000
    whole = code([RESUME, 0, *body, LOAD_CONST, 0, RETURN_VALUE, 0], [b"N"], ["NAME"])
    return module(whole.replace(text("NAME"), name))


def merges(count: int) -> bytes:
    """`if a: c = b` and `else: b = c`, one after the other: 2**count ways through."""
    one = [LOAD_FAST, 0, BRANCH, 3, LOAD_FAST, 1, STORE_FAST, 2, JUMP_FORWARD, 2]
    return function([*one, LOAD_FAST, 2, STORE_FAST, 1] * count)


def tangle(count: int) -> bytes:
    """Jumps that cross: 18 blocks on from every third block, with no structure at all."""
    return function([LOAD_FAST, 0, BRANCH, 34, LOAD_FAST, 1, STORE_FAST, 2] * count + [9, 0] * 40)


def places(count: int) -> bytes:
    return function([LOAD_FAST, 0, BRANCH, 1, UNKNOWN, 0] * count)


def underflows(count: int) -> bytes:
    return function([LOAD_FAST, 0, BRANCH, 1, POP_TOP, 0] * count)


HEADER = struct.pack("<H", 3495) + b"\r\n" + bytes(12)
INPUTS: Dict[str, Callable[[], bytes]] = {
    "code that is used twice by code that is used twice": lambda: used_twice(60),
    "code that is held twice by code that is held twice": lambda: held_twice(60),
    "a tuple that holds itself 2**60 times": lambda: tuples(60),
    "a long constant that is loaded 10,000 times": loads_of_a_long_constant,
    "a long name that is used 10,000 times": uses_of_a_long_name,
    "900 functions in functions": lambda: nested(900),
    "3,000 functions in functions": lambda: nested(3000),
    "a tuple of 2**31 items": lambda: HEADER + b"(\xff\xff\xff\x7f",
    "bytes of 2**31": lambda: HEADER + b"s\xff\xff\xff\x7f",
    "20,000 blocks": lambda: blocks(20_000),
    "5,000 merges": lambda: merges(5_000),
    "2,000 jumps that cross": lambda: tangle(2_000),
    "5,000 places that cannot be said": lambda: places(5_000),
    "5,000 stacks that underflow": lambda: underflows(5_000),
    "100,000 prefixes and jumps among them": lambda: function([EXTENDED_ARG, 1] * 100_000),
    "copies of finally bodies": (
        lambda: (ROOT / "tests" / "regress" / "fuzz" / "copies_of_finally_bodies.pyc").read_bytes()
    ),
}


def limit(memory: int = MEMORY) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def blocks(count: int) -> bytes:
    return function([LOAD_FAST, 0, BRANCH, 0] * count)


@pytest.mark.parametrize("command", ["decompile", "dis"])
@pytest.mark.parametrize("name", sorted(INPUTS))
def test_no_input_takes_more_than_its_bound(name: str, command: str, tmp_path: Path) -> None:
    path = tmp_path / "input.pyc"
    path.write_bytes(INPUTS[name]())
    said = subprocess.run(
        [str(need("native")), command, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=limit,
        check=False,
    )
    assert said.returncode in (0, 1, 3), (said.returncode, said.stderr[-500:])
    assert b"not enough memory" not in said.stderr and b"internal" not in said.stderr
    assert len(said.stdout) < LONGEST


@pytest.mark.parametrize("command", [["decompile", "--no-verify"], ["dis"]], ids=lambda c: c[0])
def test_a_million_blocks_take_what_is_said_of_them(command: List[str], tmp_path: Path) -> None:
    path = tmp_path / "input.pyc"
    path.write_bytes(blocks(1_000_000))
    with open(tmp_path / "text", "wb") as text:
        said = subprocess.run(
            [str(need("native")), *command, str(path)],
            stdout=text,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: limit(2 * MEMORY),
            check=False,
        )
    assert said.returncode == 0, said.stderr[-500:]
    lines = (tmp_path / "text").read_bytes().count(b"\n")
    assert lines > 2_000_000


def test_what_needs_more_memory_than_there_is_is_an_error_of_that_file(tmp_path: Path) -> None:
    large, small = tmp_path / "a.pyc", tmp_path / "b.pyc"
    large.write_bytes(blocks(500_000))
    small.write_bytes(blocks(1))
    said = subprocess.run(
        [
            str(need("native")),
            "decompile",
            "--no-verify",
            "-o",
            str(tmp_path),
            str(large),
            str(small),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: limit(MEMORY // 4),
        check=False,
    )
    assert said.returncode == 1
    assert b"a.pyc: not enough memory" in said.stderr, said.stderr[-500:]
    assert (tmp_path / "b.py").read_text(encoding="utf-8").startswith("def f(")
