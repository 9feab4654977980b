# SPDX-License-Identifier: Apache-2.0
"""What the interpreter that runs this has, and what of it pellucid's tables do not know.

Two sources tell what is known: the tables themselves (tables.py), and, for what no table has, a
record of each version that pellucid knows (known/python-<version>.json, written by --accept).
Nothing but the standard library is used, and everything here runs on 3.8 and newer.
"""

import __future__

import ast
import dis
import importlib.util
import inspect
import keyword
import marshal
import opcode
import re
import struct
import sys
import token
import types
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import compiled
import forms
from tables import RAW, Tables, parse_opcodes

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import gen_opcodes

VERSION = sys.version_info[:2]
Record = Dict[str, Dict[str, Any]]


class News(NamedTuple):
    """One thing that is not known, and the file to edit for it."""

    file: str
    what: str


# -- what is recorded ------------------------------------------------------------------------------


def _numbered(values: Any) -> Dict[str, str]:
    return {str(number): _told(value) for number, value in enumerate(values)}


def _told(value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return getattr(value, "__name__", None) or (value if isinstance(value, str) else repr(value))


def _common_constants() -> Dict[str, str]:
    held = getattr(opcode, "_common_constants", ())
    return {str(n): getattr(value, "__name__", repr(value)) for n, value in enumerate(held)}


def _effects() -> Dict[str, str]:
    found = {}
    for name, number in opcode.opmap.items():
        if number >= 256 or name.startswith("INSTRUMENTED_"):
            continue
        arguments = (0, 1, 2, 3) if gen_opcodes.takes_argument(number) else (None,)
        told = []
        for jump in (False, True):
            told.append(",".join(_effect(number, argument, jump) for argument in arguments))
        found[name] = " or ".join(dict.fromkeys(told))
    return found


def _effect(number: int, argument: Optional[int], jump: bool) -> str:
    try:
        return "%+d" % dis.stack_effect(number, argument, jump=jump)
    except ValueError:
        return "none"


def _opcode_module() -> Dict[str, str]:
    return {
        name: type(value).__name__
        for name, value in vars(opcode).items()
        if not name.startswith("__") and len(name) > 2
    }


def _signatures() -> Dict[str, str]:
    classes = [c for c in vars(ast).values() if isinstance(c, type) and issubclass(c, ast.AST)]
    # The doc of a group of classes lists them all, and that of ours is not of the grammar.
    return {
        c.__name__: c.__doc__
        for c in classes
        if c.__doc__ and re.match(re.escape(c.__name__) + r"(?:\(.*\))?\Z", c.__doc__)
    }


def _marshal_codes() -> str:
    known = ""
    for number in range(128):
        try:
            marshal.loads(bytes([number]))
        except (EOFError, TypeError):
            pass
        except ValueError as error:
            if "unknown type" in str(error):
                continue
        known += chr(number)
    return known


RECORDED: List[Tuple[str, str, Callable[[], Dict[str, Any]]]] = [
    ("stack effects", "src/bytecode/meanings.cpp", _effects),
    (
        "numbers of BINARY_OP",
        "src/bytecode/translate.cpp (kBinaryOps)",
        lambda: _numbered(getattr(opcode, "_nb_ops", ())),
    ),
    (
        "numbers of COMPARE_OP",
        "src/bytecode/stream.h (CompareOperator)",
        lambda: _numbered(opcode.cmp_op),
    ),
    (
        "numbers of CALL_INTRINSIC_1",
        "src/bytecode/stream.h, src/structure/expressions/type_parameters.cpp",
        lambda: _numbered(getattr(opcode, "_intrinsic_1_descs", ())),
    ),
    (
        "numbers of CALL_INTRINSIC_2",
        "src/bytecode/stream.h, src/structure/expressions/type_parameters.cpp",
        lambda: _numbered(getattr(opcode, "_intrinsic_2_descs", ())),
    ),
    (
        "numbers of LOAD_SPECIAL",
        "src/bytecode/translate.cpp (Special)",
        lambda: _numbered(getattr(opcode, "_special_method_names", ())),
    ),
    (
        "numbers of LOAD_COMMON_CONSTANT",
        "src/bytecode/translate.cpp (common_constant), src/structure/expressions/expressions.cpp",
        _common_constants,
    ),
    (
        "attributes of code objects",
        "src/python/from_code.cpp, python/pellucid/recompile.py",
        lambda: {n: "" for n in dir(types.CodeType) if n.startswith("co_")},
    ),
    (
        "flags of code objects",
        "src/object/code.h",
        lambda: {name: hex(bit) for bit, name in dis.COMPILER_FLAG_NAMES.items()},
    ),
    (
        "flags for compile()",
        "python/pellucid/interpreters.py",
        lambda: {n: hex(v) for n, v in vars(ast).items() if n.startswith("PyCF_")},
    ),
    (
        "types in the module opcode",
        "tools/gen_opcodes.py, python/pellucid/instructions.py",
        _opcode_module,
    ),
    ("format of marshal", "src/object/marshal_reader.cpp", lambda: {"": str(marshal.version)}),
    ("syntax tree", "src/ast/nodes.def, src/print/", _signatures),
    (
        "keywords",
        "src/print/",
        lambda: {
            **dict.fromkeys(keyword.kwlist, ""),
            **dict.fromkeys(getattr(keyword, "softkwlist", ()), "soft"),
        },
    ),
    (
        "operators and punctuation",
        "src/print/precedence.h",
        lambda: dict.fromkeys(getattr(token, "EXACT_TOKEN_TYPES", ()), ""),
    ),
    (
        "features of __future__",
        "src/object/code.h, src/structure/statements/imports.cpp",
        lambda: {name: hex(getattr(__future__, name).compiler_flag) for name in _FEATURES},
    ),
    ("what may be written where", "src/print/, src/structure/, tests/cases/", forms.table),
    (
        "what is compiled to what",
        "src/bytecode/translate.cpp, src/flow/, src/structure/, src/verify/lower/",
        compiled.table,
    ),
]
_FEATURES = __future__.all_feature_names


_COMPARED = {
    "what may be written where": forms.differences,
    "what is compiled to what": compiled.differences,
}


def record() -> Record:
    """Return what this interpreter has of all that no table of ours has."""
    return {name: make() for name, _, make in RECORDED}


def recorded_news(known: Record) -> List[News]:
    """Return what differs from the record of the newest version that is known."""
    found = []
    for name, file, make in RECORDED:
        before, now = known.get(name, {}), make()
        compare = _COMPARED.get(name)
        if compare is not None:
            found += [News(file, text) for text in compare(before, now)]
            continue
        for key in sorted({*before, *now}, key=lambda k: (not k.isdigit(), len(k), k)):
            old, new = before.get(key), now.get(key)
            if old == new:
                continue
            label = ("%s: %s" % (name, key)) if key else name
            if old is None:
                found.append(News(file, "%s is new%s" % (label, " (%s)" % new if new else "")))
            elif new is None:
                found.append(News(file, "%s is gone%s" % (label, " (%s)" % old if old else "")))
            else:
                found.append(News(file, "%s was %s, is %s" % (label, old, new)))
    return found


# -- against the tables ----------------------------------------------------------------------------


def magic_news(tables: Tables) -> List[News]:
    """Return this interpreter's magic number, where it is not that of a version that is read."""
    magic = int.from_bytes(importlib.util.MAGIC_NUMBER[:2], "little")
    for first, last, version in tables.magic_numbers():
        if first <= magic <= last and version == VERSION:
            return []
    text = "magic number %d of CPython %d.%d is not read" % (magic, *VERSION)
    return [News("src/object/pyc.cpp", text)]


def opcode_news(tables: Tables) -> List[News]:
    """Return opcodes without a number, or without a meaning."""
    here = _parsed(gen_opcodes.text())
    path = RAW.format(*VERSION)
    written = tables.opcodes(VERSION)
    found = []
    if written is None:
        found.append(News(path, "is missing: run tools/gen_opcodes.py under this interpreter"))
        found.append(News("src/bytecode/raw_tables.inc", "has no table of %d.%d" % VERSION))
        before = [version for version in tables.versions() if version < VERSION]
        found += _changed_opcodes(tables, before[-1], here) if before else []
    elif written != here:
        found.append(News(path, "has drifted: run tools/gen_opcodes.py under this interpreter"))
    rows = [row for row in tables.meanings() if row.first <= VERSION[1] <= row.last]
    names = {row.name for row in rows}
    for name in sorted(set(here) - names):
        found.append(News("src/bytecode/meanings.cpp", "%s has no row" % name))
    return found


def _parsed(text: str) -> Dict[str, Any]:
    return {row[0]: row[1] for row in parse_opcodes(text)}


def _changed_opcodes(tables: Tables, before: Tuple[int, int], here: Dict[str, Any]) -> List[News]:
    known = tables.opcodes(before) or {}
    label, file = "%d.%d" % before, "src/bytecode/meanings.cpp"
    found = [
        News(file, "%s is new since %s" % (name, label))
        for name in sorted(here)
        if name not in known
    ]
    found += [
        News(file, "%s of %s is gone" % (name, label)) for name in sorted(known) if name not in here
    ]
    for name in sorted(set(here) & set(known)):
        old, new = known[name], here[name]
        if old.kinds != new.kinds:
            text = "%s takes %s, in %s %s" % (name, new.kinds, label, old.kinds)
            found.append(News(file, text))
        if old.cache_units != new.cache_units:
            text = "%s has %d units of cache, in %s %d" % (
                name,
                new.cache_units,
                label,
                old.cache_units,
            )
            found.append(News(RAW.format(*VERSION), text))
    return found


# 'I' was written by Python 2, and CPython still reads it; '}' is 3.15's frozendict, of which no
# compiler makes a constant.
_IN_NO_CODE = "I}"


def marshal_news(tables: Tables) -> List[News]:
    """Return type codes that are not read, and code objects whose fields lie otherwise."""
    file, known = "src/object/marshal_reader.cpp", tables.marshal_codes()
    codes = [c for c in _marshal_codes() if c not in known and c not in _IN_NO_CODE]
    found = [News(file, "type code %r is not known" % code) for code in codes]
    problem = "" if VERSION < (3, 11) else Layout(tables).problem()
    if problem:
        found.append(News("src/object/code_layout.cpp", problem))
    return found


class Layout:
    """Reads a code object as marshal writes it, by the order of fields that pellucid knows."""

    def __init__(self, tables: Tables) -> None:
        self._fields = tables.code_layout()
        self._data = b""
        self._at = 0
        self._refs: List[Any] = []

    def problem(self) -> str:
        """Return how code objects are not as the table has them; empty if they are."""
        source = "def f(a, /, b, *c, d=1, **e):\n    x = [a for a in b]\n    return lambda: x\n"
        code = compile(source, "<layout>", "exec")
        inner = next(const for const in code.co_consts if isinstance(const, types.CodeType))
        self._data, self._at, self._refs = marshal.dumps(inner), 0, []
        try:
            fields = self._object()
        except (ValueError, IndexError, struct.error, KeyError) as error:
            return "a code object is not laid out as in %s (%s)" % (self._shown(), error)
        if self._at != len(self._data):
            left = len(self._data) - self._at
            return "after the fields %s %d bytes are left" % (self._shown(), left)
        wanted = {
            "ArgCount": inner.co_argcount,
            "PosOnlyArgCount": inner.co_posonlyargcount,
            "KwOnlyArgCount": inner.co_kwonlyargcount,
            "StackSize": inner.co_stacksize,
            "Flags": inner.co_flags,
            "Name": inner.co_name,
            "FileName": inner.co_filename,
            "FirstLineNo": inner.co_firstlineno,
            "LineTable": inner.co_linetable,
        }
        wrong = [name for name, value in wanted.items() if fields.get(name) != value]
        return "%s of a code object lie elsewhere" % ", ".join(wrong) if wrong else ""

    def _shown(self) -> str:
        return ", ".join(name for name, _ in self._fields)

    def _take(self, count: int) -> bytes:
        data = self._data[self._at : self._at + count]
        if len(data) < count:
            raise ValueError("unexpected end")
        self._at += count
        return data

    def _int(self) -> int:
        return int(struct.unpack("<i", self._take(4))[0])

    def _object(self) -> Any:
        byte = self._take(1)[0]
        code, slot = chr(byte & 0x7F), None
        if byte & 0x80:
            slot = len(self._refs)
            self._refs.append(None)
        value = self._value(code)
        if slot is not None:
            self._refs[slot] = value
        return value

    def _value(self, code: str) -> Any:
        if code in "NTF.":
            return code
        if code == "i":
            return self._int()
        if code == "r":
            return self._refs[self._int()]
        if code in "zZ":
            return self._take(self._take(1)[0]).decode("latin-1")
        if code in "aAut":
            return self._take(self._int()).decode("utf-8", "surrogatepass")
        if code == "s":
            return self._take(self._int())
        if code in "()":
            count = self._take(1)[0] if code == ")" else self._int()
            return tuple(self._object() for _ in range(count))
        if code == "c":
            return {
                name: self._int() if number else self._object() for name, number in self._fields
            }
        raise ValueError("type code %r" % code)


# ASDL's classes that our table has under another name, as a flag, or that only compile() sees.
_OTHERWISE = frozenset(
    [
        *("AsyncFunctionDef", "AsyncFor", "AsyncWith", "TryStar"),
        *("Interactive", "Expression", "FunctionType", "TypeIgnore"),
        *("Num", "Str", "Bytes", "NameConstant", "Ellipsis", "Index", "ExtSlice"),
        *("Suite", "AugLoad", "AugStore", "Param"),
    ]
)
_GROUPS = ("operator", "unaryop", "boolop", "cmpop", "expr_context")
_FIELDS_LEFT_OUT = frozenset(["ctx", "type_comment", "type_ignores", "kind"])


def tree_news(tables: Tables) -> List[News]:
    """Return classes and fields of the syntax tree that nodes.def has not."""
    file, known = "src/ast/nodes.def", tables.nodes()
    found = []
    for name in _signatures() if VERSION >= (3, 9) else ():
        cls = getattr(ast, name)
        groups = [base.__name__ for base in cls.__mro__]
        is_group = cls.__subclasses__() and not cls._fields
        if is_group or name in _OTHERWISE or any(group in groups for group in _GROUPS):
            continue
        if name not in known:
            found.append(News(file, "%s is not known: %s" % (name, cls.__doc__)))
            continue
        fields = [f for f in cls._fields if f not in known[name] and f not in _FIELDS_LEFT_OUT]
        found += [News(file, "%s.%s is not known" % (name, field)) for field in fields]
    return found


def flag_news(tables: Tables) -> List[News]:
    """Return flags of code objects that have no name in code.h."""
    known, inside = tables.code_flags(), set(dis.COMPILER_FLAG_NAMES)
    inside |= {v for n, v in vars(inspect).items() if n.startswith("CO_") and isinstance(v, int)}
    return [
        News(
            "src/object/code.h",
            "flag %s (%s) is not known" % (hex(bit), dis.COMPILER_FLAG_NAMES.get(bit, "?")),
        )
        for bit in sorted(inside)
        if bit not in known
    ]


def place_news(tables: Tables) -> List[News]:
    """Return, for a version without tables, the places that list versions or test for one."""
    if tables.opcodes(VERSION) is not None:
        return []
    label = "%d.%d" % VERSION
    listed = [
        ("pyproject.toml", "Python :: %s" % label),
        ("tools/pythons.py", '"%s"' % label),
        ("src/object/pyc.cpp", "{%d, %d}" % VERSION),
    ]
    found = [
        News(path, "does not list %s" % label)
        for path, word in listed
        if word not in tables.text(path)
    ]
    for path, count in tables.version_tests():
        times = "once" if count == 1 else "%d times" % count
        found.append(News("and read where a version is asked for", "%s, %s" % (path, times)))
    return found


def news(tables: Tables, known: Record) -> List[News]:
    """Return everything that pellucid does not know of this interpreter."""
    found = []
    for check in (magic_news, opcode_news, marshal_news, flag_news, tree_news):
        found += check(tables)
    return found + (recorded_news(known) if known else []) + place_news(tables)
