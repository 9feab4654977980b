"""Writes `.pyc` files with a hostile string in every field that holds one.

    python3.N tests/python/hostile_codes.py OUT

OUT/FIELD.STRING.pyc has the string where OUT/FIELD.benign.pyc has the name `benign`.
"""

import importlib.util
import json
import marshal
import sys
import types
from pathlib import Path
from typing import Any, Callable, Dict

STRINGS = {
    "benign": "benign",
    "code": "q\nprint('INJECTED')\nz",
    "call": "a=0)\nprint('INJECTED')\nf(b",
    "quotes": "q'\"'''\"\"\"\\",
    "escape": "\x1b[31mq\x1b]0;title\x07",
    "bidi": "a\u202e\u2066b",
    "nul": "a\0b",
    "surrogate": "\ud800a",
    "ligature": "\ufb01",
    "keyword": "class",
    "debug": "__debug__",
    "coding": "# coding: latin-1",
    "empty": "",
    "long": "x y" * 3000,
}
NAMES = ("co_names", "co_varnames", "co_freevars", "co_cellvars")

# The string stands wherever `benign` does.
PLACES = {
    "class": "class benign:\n    fi = 1\nprint(benign.fi)",
    "method": "class A:\n    def benign(self): return 1",
    "function": "def benign(): return 1\nprint(benign())",
    "argument": "def f(benign, *, fi=1): return benign, fi",
    "star": "def f(*benign): return benign",
    "local": "def f():\n    fi = benign = 1\n    return benign, fi",
    "global": "def f():\n    global benign\n    benign = 1",
    "cell": "def f():\n    benign = 1\n    def g():\n        nonlocal benign\n"
    "        benign += 1\n        return benign\n    return g",
    "attribute": "a.benign = a.fi\ndel a.benign",
    "method call": "a.benign(1)",
    "keyword": "print(dict(benign=1, fi=2))",
    "import": "import benign",
    "import as": "import os as benign",
    "import from": "from os import benign",
    "import from as": "from os import path as benign",
    "import module": "from benign import path",
    "handler": "try: f()\nexcept E as benign: print(1)",
    "with": "with f() as benign: print(1)",
    "for": "for benign in (1,): print(benign)",
    "delete": "benign = 1\ndel benign",
    "annotation": "benign: int = 1",
    # On one line, the columns of a name of another length may be those of `return None`.
    "annotated argument": "def f(benign: int) -> 3:\n    pass",
    "future annotation": "from __future__ import annotations\ndef f(x: benign): pass",
    "lambda": "print((lambda benign: benign)(1))",
    "comprehension": "print([benign for benign in (1,)])",
    "named": "print((benign := 3))",
    "decorator": "@benign\ndef g(): pass",
    "class keyword": "class A(metaclass=M, benign=1): pass",
    "docstring": "def f():\n    'benign'\n    return 1",
    "module docstring": "'benign'\nx = 1",
    "string": "x = 'benign', (y, 'benign')",
    "formatted string": "x = f'{x}-benign'",
    "bytes": "x = b'benign'",
    "async": "async def benign(): return 1",
    "generator": "def benign(): yield 1",
}
if sys.version_info >= (3, 10):
    PLACES["match keyword"] = "match 1:\n    case A(benign=3, fi=4): print(2)"
    PLACES["match capture"] = "match 1:\n    case int(x) as benign: print(benign)"
    PLACES["match rest"] = "match {}:\n    case {**benign}: print(benign)"
    PLACES["match star"] = "match f():\n    case x, *benign: print(benign)"
if sys.version_info >= (3, 12):
    PLACES["type parameter"] = "def f[benign](x: benign): pass"
    PLACES["class parameter"] = "class A[benign]: x: benign"
    PLACES["type alias"] = "type benign = int"

# One field of each code object is the string, whatever it was.
WHOLE = "class A:\n    def f(self, x):\n        return [y for y in x]\n    g = lambda self: 1\n"
FIELDS: Dict[str, Callable[[types.CodeType, str], Dict[str, Any]]] = {
    "co_name": lambda code, text: {"co_name": text},
    "co_filename": lambda code, text: {"co_filename": text},
    "co_names": lambda code, text: {"co_names": (*code.co_names, text)},
}
if sys.version_info >= (3, 11):
    FIELDS["co_qualname"] = lambda code, text: {"co_qualname": text}


def replaced(value: Any, text: str) -> Any:
    """The value with the string in the place of `benign`, nested code included."""
    if isinstance(value, types.CodeType):
        changes: Dict[str, Any] = {
            kind: tuple(text if name == "benign" else name for name in getattr(value, kind))
            for kind in NAMES
        }
        changes["co_consts"] = tuple(replaced(const, text) for const in value.co_consts)
        changes["co_name"] = text if value.co_name == "benign" else value.co_name
        if sys.version_info >= (3, 11):
            changes["co_qualname"] = value.co_qualname.replace("benign", text)
        return value.replace(**changes)
    if isinstance(value, tuple):
        return tuple(replaced(item, text) for item in value)
    if isinstance(value, bytes):
        return value.replace(b"benign", text.encode("utf-8", "surrogatepass"))
    return value.replace("benign", text) if isinstance(value, str) else value


def with_field(code: types.CodeType, field: str, text: str) -> types.CodeType:
    """The code object with the string in one field of those that are nested in it."""
    nested = (
        with_field(const, field, text).replace(**FIELDS[field](const, text))
        if isinstance(const, types.CodeType) and not const.co_name.startswith("<listcomp")
        else const
        for const in code.co_consts
    )
    return code.replace(co_consts=tuple(nested))


def main(out: Path) -> None:
    """Write every file, and what each holds."""
    out.mkdir(parents=True, exist_ok=True)
    held = {}
    for kind, text in STRINGS.items():
        codes = {
            place: replaced(compile(source, "x.py", "exec"), text)
            for place, source in PLACES.items()
        }
        for field in FIELDS:
            codes[field] = with_field(compile(WHOLE, "x.py", "exec"), field, text)
        for place, code in codes.items():
            name = f"{place.replace(' ', '_')}.{kind}"
            held[name] = text
            data = importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)
            (out / f"{name}.pyc").write_bytes(data)
    (out / "held.json").write_text(json.dumps(held))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
