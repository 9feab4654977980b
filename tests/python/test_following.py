"""`--follow` goes through what loaders of packed code do, without running any of it."""

import base64
import codecs
import importlib.util
import marshal
import pickle
import zlib
from typing import Any, Dict

import pytest
from pellucid import decompile_pyc
from pellucid.following import hidden_in
from pellucid.source_constants import constants_of

HEADER = importlib.util.MAGIC_NUMBER + bytes(12)
PAYLOAD = "import os\n\n\ndef beacon(host):\n    return os.sep + host\n\n\nbeacon('c2.example')\n"
TEXT = PAYLOAD.encode()
CODE = marshal.dumps(compile(PAYLOAD, "payload.py", "exec"))
B64 = base64.b64encode


def loader(source: str) -> bytes:
    return HEADER + marshal.dumps(compile(source, "loader.py", "exec"))


def parts(data: Any, size: int = 90) -> "list[Any]":
    return [data[i : i + size] for i in range(0, len(data), size)]


def packed(text: bytes) -> str:
    """Return a program that unpacks a text and runs it."""
    code = f"exec(zlib.decompress(base64.b64decode({B64(zlib.compress(text))!r})))"
    return f"import base64, zlib\n{code}\n"


def lines(data: bytes) -> str:
    """Return a string in several lines, as its writer broke it."""
    return "(" + "\n    ".join(repr(each) for each in parts(data.decode())) + ")"


ROT13 = codecs.encode(B64(CODE).decode(), "rot13")
KEY = b"secret"
XORED = bytes(b ^ KEY[i % len(KEY)] for i, b in enumerate(CODE))
NAMES = "\n".join(f"part_{i} = {each!r}" for i, each in enumerate(parts(B64(CODE))))
ALL_NAMES = " + ".join(f"part_{i}" for i in range(len(parts(B64(CODE)))))

LOADERS: "Dict[str, str]" = {
    "a slice": f"exec(loads({b'GARBAGE!' + CODE + b'END'!r}[8:-3]))",
    "a .pyc in a slice": f"exec(loads({HEADER + CODE!r}[16:]))",
    "joined names": f"{NAMES}\nexec(loads(b64decode({ALL_NAMES})))",
    "a tuple of numbers": f"data = {tuple(CODE)!r}\nexec(loads(bytes(data)))",
    "raw deflate": f"exec(loads(decompress({zlib.compress(CODE)[2:-4]!r}, -15)))",
    "rot13": f"exec(loads(b64decode(decode({ROT13!r}, 'rot13'))))",
    "a key of one byte": f"exec(loads(bytes(b ^ 90 for b in {bytes(b ^ 90 for b in CODE)!r})))",
    "a key": f"exec(loads(bytes(b ^ key for b, key in {XORED!r})))",
    "a pickle": f"exec(loads({pickle.dumps(PAYLOAD)!r}))",
    "packed text in packed text": packed(packed(packed(TEXT).encode()).encode()),
    "code in packed text": packed(f"exec(marshal.loads({CODE!r}))".encode()),
    "broken strings in packed text": packed(f"exec(b64decode({lines(B64(CODE))}))".encode()),
    "numbers in packed text": packed(f"exec(loads(bytes({list(CODE)!r})))".encode()),
    "text that no Python parses": packed(b"print 'x'\nif (:\nexec(loads(%r))" % CODE),
}


@pytest.mark.parametrize("what", LOADERS)
def test_the_payload_is_found(what: str) -> None:
    last = hidden_in(loader(LOADERS[what]))[-1]
    text = decompile_pyc(last.data).source if last.is_code else last.data.decode()
    assert text == PAYLOAD, last.words


def test_a_number_for_each_level() -> None:
    found = hidden_in(loader(packed(packed(TEXT).encode())))
    assert [each.number for each in found] == ["1", "1.1"]
    assert found[0].words == "<module>: base64, zlib"
    assert found[1].words == "the text: base64, zlib"


def test_constants_of_a_text() -> None:
    assert constants_of("a = b'\\x63\\0' b'and sixteen more' # 'a comment of some length'") == [
        b"c\0and sixteen more",
        "a comment of some length",
    ]
    assert constants_of(f"a = {list(range(20))}; b = {list(range(250, 270))}") == [bytes(range(20))]
    assert not any(constants_of("'" * 100_001 + "[(" * 100_000 + "\\" * 99_999))


def test_texts_in_texts_are_bounded() -> None:
    text = TEXT
    for _ in range(14):
        text = packed(text).encode()
    assert len(hidden_in(loader(text.decode()))) == 10
