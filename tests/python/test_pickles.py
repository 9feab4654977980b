# SPDX-License-Identifier: Apache-2.0
"""Pickles and model files: what loading them would do, and the code in them. Nothing is loaded."""

import base64
import io
import json
import marshal
import pickle
import random
import struct
import sys
import types
import zipfile
import zlib
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest
from commands import run
from needs import ROOT, need
from pellucid import DecompileError, _core, containers

CLI = [sys.executable, "-m", "pellucid"]


def loads(folder: Path, data: bytes) -> "List[Dict[str, Any]]":
    path = folder / "file.pkl"
    path.write_bytes(data)
    return [load for load, _ in containers.loads(path)]


def codes(folder: Path, data: bytes) -> "Dict[str, Tuple[str, str, List[str]]]":
    """Return the source, the verdict and what is around it of each code object, by name."""
    path = folder / "file.pkl"
    path.write_bytes(data)
    found = {}
    for member in containers.contents_of(path).members:
        made = _core.decompile_pyc(member.read(), verify=True)
        status = made.verdict[0] if made.verdict else "none"
        found[member.name] = (made.source, status, member.about)
    return found


# --- hostile pickles ---------------------------------------------------------------------------


def op4(*texts: str) -> bytes:
    """Return opcodes that push texts."""
    return b"".join(b"\x8c" + bytes([len(t)]) + t.encode() for t in texts)


def call4(module: str, name: str, *arguments: bytes) -> bytes:
    """Return opcodes of protocol 4 that call a function."""
    return op4(module, name) + b"\x93(" + b"".join(arguments) + b"tR"


P4 = b"\x80\x04"
ROT13 = call4("_codecs", "decode", op4("flfgrz", "rot13"))
JOINED = op4("", "join").join([call4("builtins", "getattr")[:-2], b"tR("]) + b"]("
JOINED += op4("sys", "tem") + b"etR"
NESTED = pickle.dumps({"weights": b"cos\nsystem\n(S'id'\ntR."}, 4)

HOSTILE = {
    "protocol 0": (b"cos\nsystem\n(S'id'\ntR.", "calls os.system('id')"),
    "no STOP": (b"cos\nsystem\n(S'id'\ntR", "calls os.system('id')"),
    "fails after the call": (b"cos\nsystem\n(S'id'\ntR\xff.", "calls os.system('id')"),
    "INST": (b"(S'id'\nios\nsystem\n.", "calls os.system('id')"),
    "OBJ": (b"(cos\nsystem\nS'id'\no.", "calls os.system('id')"),
    "odd escapes": (b"cos\nsystem\n(S'\\x69\\144'\ntR.", "calls os.system('id')"),
    "unicode escapes": (b"cos\nsystem\n(V\\u0069d\ntR.", "calls os.system('id')"),
    "names of Python 2": (b"c__builtin__\neval\n(S'1'\ntR.", "calls __builtin__.eval('1')"),
    "eval": (P4 + call4("builtins", "eval", op4("1")) + b".", "calls builtins.eval('1')"),
    "exec": (P4 + call4("builtins", "exec", op4("1")) + b".", "calls builtins.exec('1')"),
    "a result that is dropped": (
        P4 + call4("os", "system", op4("id")) + b"0K\x01.",
        "calls os.system('id')",
    ),
    "behind a mark": (P4 + b"(" + call4("os", "system", op4("id")) + b"1K\x01.", "os.system('id')"),
    "a computed name": (P4 + op4("os") + ROT13 + b"\x93.", "imports os.system"),
    "a joined name": (P4 + op4("os") + JOINED + b"\x93.", "imports os.system"),
    "memo tricks": (
        P4 + op4("math", "os") + b"\x94" + op4("sqrt", "system") + b"q\x01h\x00h\x01\x93.",
        "imports os.system",
    ),
    "getattr": (
        P4
        + call4("builtins", "getattr", call4("builtins", "__import__", op4("os")), op4("system"))
        + b"("
        + op4("id")
        + b"tR.",
        "calls builtins.getattr(builtins.__import__('os'), 'system')('id')",
    ),
    "attrgetter": (
        b"coperator\nattrgetter\n(S'system'\ntR(cimportlib\nimport_module\n(S'os'\ntRtR.",
        "operator.attrgetter('system')(importlib.import_module('os'))",
    ),
    "through another module": (b"cshutil\nos.system\n(S'id'\ntR.", "calls shutil.os.system('id')"),
    "inside an object": (
        P4 + op4("builtins", "len.__self__.eval") + b"\x93.",
        "imports builtins.len.__self__.eval",
    ),
    "variables of a module": (b"cbuiltins\n__dict__\n.", "imports builtins.__dict__"),
    "subprocess": (
        P4 + op4("subprocess", "Popen") + b"\x93" + op4("id") + b"\x85\x81.",
        "calls subprocess.Popen.__new__('id')",
    ),
    "partial": (
        b"cfunctools\npartial\n(cos\nsystem\nS'id'\ntR)R.",
        "calls functools.partial(os.system, 'id')()",
    ),
    "a pickle in bytes": (NESTED, "calls os.system('id')"),
    "pickle.loads": (
        b"cpickle\nloads\n(c_codecs\nencode\n(V"
        + b"cos\\u000asystem\\u000a(S'id'\\u000atR.\nVlatin1\ntRtR.",
        "calls os.system('id')",
    ),
    "base 64": (
        b"cpickle\nloads\n(cbase64\nb64decode\n(S'"
        + base64.b64encode(b"cos\nsystem\n(S'id'\ntR.")
        + b"'\ntRtR.",
        "calls os.system('id')",
    ),
    "an imported object is changed": (
        P4 + op4("json", "encoder") + b"\x93}" + op4("f") + b"K\x01sb.",
        "sets the state of json.encoder to {'f': 1}",
    ),
    "marshal": (
        P4 + call4("marshal", "loads", b"C\x02ab") + b")R.",
        "calls marshal.loads(b'ab')()",
    ),
    "before a zip archive": (
        b"cos\nsystem\n(S'id'\ntR." + b"PK\5\6" + bytes(18),
        "calls os.system('id')",
    ),
    "a second pickle": (b"\x80\x02K\x01.cos\nsystem\n(S'id'\ntR.", "calls os.system('id')"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_pickle_is_reported_as_what_it_is(kind: str, tmp_path: Path) -> None:
    data, wanted = HOSTILE[kind]
    steps = [step for load in loads(tmp_path, data) for step in load["steps"]]
    marked = [step["text"] for step in steps if step["danger"] == "runs"]
    assert any(wanted in text for text in marked), steps


def test_what_only_the_loading_program_knows_is_listed(tmp_path: Path) -> None:
    (load,) = loads(tmp_path, b"\x80\x05\x82\x09Pname\n\x97\x98\x87.")
    assert [step["text"] for step in load["steps"]] == [
        "looks up extension 9 in the registry of copyreg",
        "asks the program for persistent_load('name')",
        "takes buffer 0 from the program",
    ]


def test_plain_values_are_harmless(tmp_path: Path) -> None:
    value = {"a": [1, 2.5, None, True, 1 << 80], "b": (b"x", "y", {1, 2}), "c": frozenset([3])}
    for protocol in range(4, 6):
        (load,) = loads(tmp_path, pickle.dumps(value, protocol))
        assert load["steps"] == [] and load["failure"] is None
    run_it = run(*CLI, "inspect", tmp_path / "file.pkl")
    assert run_it.returncode == 0, run_it
    assert "loading it   makes plain values" in run_it.stdout


def test_safetensors_are_named(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", 2) + b"{}" + bytes(64))
    with pytest.raises(DecompileError, match="a safetensors file"):
        _core.decompile_pyc(path.read_bytes())


# --- CPython's own pickle, with classes that do nothing ------------------------------------------

LOG: "List[str]" = []


class _Logs:
    def __init__(self, word: str) -> None:
        self.word = word

    def __get__(self, instance: Any, owner: Any) -> Any:
        return lambda *_: LOG.append(self.word)


class _Meta(type):
    def __call__(cls, *_: Any) -> Any:
        LOG.append("call")
        return object.__new__(cls)


class _Anything(metaclass=_Meta):
    append = extend = _Logs("append")
    add = update = _Logs("add")

    def __new__(cls, *_: Any) -> Any:
        LOG.append("call")
        return object.__new__(cls)

    def __call__(self, *_: Any) -> Any:
        LOG.append("call")
        return object.__new__(_Anything)

    def __setstate__(self, _: Any) -> None:
        LOG.append("state")

    def __setitem__(self, _: Any, __: Any) -> None:
        LOG.append("store")


class _Unpickler(pickle.Unpickler):
    def find_class(self, _: str, __: str) -> Any:
        LOG.append("import")
        return _Meta("Anything", (_Anything,), {})


def by_cpython(data: bytes) -> "Tuple[bool, List[str], str]":
    LOG.clear()
    try:
        _Unpickler(io.BytesIO(data)).load()
    except Exception as error:
        return False, list(LOG), str(error)
    return True, list(LOG), ""


# What depends on the results of calls, on memory, or on an option of pickle.
UNFORESEEN = (
    "argument list|setstate|item assignment|indices|persistent|codec|bytes-like|STACK_GLOBAL"
)


def test_a_changed_pickle_does_what_cpython_does(tmp_path: Path) -> None:
    rng = random.Random(7)
    seeds = [pickle.dumps([{"a": 1}, (1.5, b"x"), {2}, 1j, slice(1)], p) for p in range(6)]
    seeds += [data for data, _ in HOSTILE.values()]
    compared = 0
    for _ in range(800):
        data = bytearray(rng.choice(seeds))
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(data))
            if rng.random() < 0.5:
                data[at] = rng.choice(b"()lt.0123RsbaeuoN\x80\x81\x85\x86\x87\x93\x94\x8f\x90\x91")
            else:
                del data[at]
        try:
            found = loads(tmp_path, bytes(data))
        except DecompileError:  # a damaged zip archive
            continue
        done, log, why = by_cpython(bytes(data))
        if not found or any(word in why for word in UNFORESEEN.split("|")):
            continue
        kinds = [step["kind"] for step in found[0]["steps"]]
        if "persistent id" in kinds or "buffer" in kinds or "extension" in kinds:
            continue
        compared += 1
        assert (found[0]["failure"] is None, kinds) == (done, log), (bytes(data), why, found[0])
    assert compared > 200


# --- code --------------------------------------------------------------------------------------


def sample() -> "Dict[str, bytes]":
    with zipfile.ZipFile(ROOT / "tests" / "cases" / "pickles.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_code_of_every_writer_and_python_is_found_and_proven(tmp_path: Path) -> None:
    members = sample()
    for name in members:
        if name.endswith(".json"):
            continue
        found = codes(tmp_path, members[name])
        assert all(status in ("identical", "equivalent") for _, status, _ in found.values()), name
        names = {each.rpartition("/")[2] for each in found}
        for wanted in json.loads(members[f"{name}.json"]):
            assert {wanted, wanted.rpartition(".")[2]} & names, (name, wanted, names)


def test_defaults_globals_and_cells_are_shown(tmp_path: Path) -> None:
    (tmp_path / "add.pkl").write_bytes(sample()["3.11/cloudpickle_01.bin"])
    done = run(*CLI, "decompile", "--no-verify", tmp_path / "add.pkl")
    assert "# counter.<locals>.add, at byte 0x" in done.stdout
    assert "# defaults: step = 1; twice = False\n" in done.stdout
    assert "# closure: count = 3\n" in done.stdout
    native = run(need("native"), "decompile", "--no-verify", tmp_path / "add.pkl")
    assert native.stdout == done.stdout


def test_the_binary_and_python_list_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.pkl").write_bytes(HOSTILE["getattr"][0])
    (tmp_path / "b.pkl").write_bytes(HOSTILE["a second pickle"][0])
    for options in ([], ["--json"]):
        ours = run(*CLI, "inspect", tmp_path, *options)
        native = run(need("native"), "inspect", tmp_path, *options)
        assert native.returncode == 0 and "os.system" in native.stdout
        assert ours.stdout == native.stdout


def a_function(x: int, y: int = 2) -> int:
    return x * y + len(str(x))


def test_marshalled_code_is_found_in_any_packing(tmp_path: Path) -> None:
    code = marshal.dumps(a_function.__code__)
    files = {
        "bytes": pickle.dumps({"f": code}),
        "base 64": pickle.dumps([base64.b64encode(code).decode()]),
        "protocol 0": pickle.dumps({"f": code}, 0),
        "zlib": zlib.compress(pickle.dumps({"f": code})),
        "keras": json.dumps(
            {
                "class_name": "Lambda",
                "config": {"name": "scale", "function": [base64.encodebytes(code).decode()]},
            }
        ).encode(),
        "npy": b"\x93NUMPY\1\0"
        + struct.pack("<H", 20)
        + b"{'descr': '|O', ...}"
        + pickle.dumps([code]),
    }
    files["keras zip"] = _zip({"config.json": files["keras"]})
    files["npz"] = _zip({"arr_0.npy": files["npy"]})
    files["h5"] = b"\x89HDF\r\n\x1a\n" + bytes(90) + files["keras"]
    for kind, data in files.items():
        found = codes(tmp_path, data)
        assert len(found) == 1, kind
        ((source, status, _),) = found.values()
        assert "return x * y + len(str(x))" in source, kind
        assert status in ("identical", "equivalent"), kind


def _zip(members: "Dict[str, bytes]") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def parts_of(code: types.CodeType) -> "Tuple[Any, ...]":
    """Return the arguments that make a code object."""
    names = "argcount posonlyargcount kwonlyargcount nlocals stacksize flags code consts names"
    names += " varnames filename name"
    if sys.version_info >= (3, 11):
        names += " qualname firstlineno linetable exceptiontable"
    else:
        names += " firstlineno " + ("linetable" if sys.version_info >= (3, 10) else "lnotab")
    return tuple(getattr(code, f"co_{name}") for name in f"{names} freevars cellvars".split())


def test_old_cloudpickle_and_a_constant_that_cannot_be_known(tmp_path: Path) -> None:
    code = a_function.__code__
    parts = parts_of(code)
    state = {"globals": {"LIMIT": 7}, "defaults": (5,), "module": "net", "name": "a_function"}

    def made(consts: Any) -> bytes:
        given = [consts if part is code.co_consts else part for part in parts]
        out = b"\x80\x02ccloudpickle.cloudpickle\n_fill_function\n(ccloudpickle.cloudpickle\n"
        out += b"_make_skel_func\n(ctypes\nCodeType\n"
        out += pickle.dumps(tuple(given), 2)[2:-1] + b"RK\x00}tR"
        return out + pickle.dumps(state, 2)[2:-1] + b"tR."

    ((source, status, about),) = codes(tmp_path, made(code.co_consts)).values()
    assert "return x * y + len(str(x))" in source and status in ("identical", "equivalent")
    assert "defaults: y = 5" in about and "globals: LIMIT = 7" in about
    with pytest.raises(DecompileError, match="which only loading can make"):
        codes(tmp_path, made((types.SimpleNamespace(),)))


def test_code_of_torch_artifacts_is_found_by_its_attributes(tmp_path: Path) -> None:
    names = "argcount posonlyargcount kwonlyargcount nlocals stacksize flags code consts names"
    names += " varnames filename name qualname firstlineno linetable exceptiontable lnotab"
    attributes = {
        f"co_{name}": getattr(a_function.__code__, f"co_{name}", None)
        for name in f"{names} freevars cellvars".split()
        if name != "lnotab" or sys.version_info < (3, 10)
    }
    data = b"\x80\x02ctorch._dynamo.package\nSerializedCode\n)\x81"
    data += pickle.dumps(attributes, 2)[2:-1] + b"b."
    ((source, status, _),) = codes(tmp_path, pickle.dumps({"entry": data})).values()
    assert "return x * y + len(str(x))" in source and status in ("identical", "equivalent")


def test_constants_of_every_kind_keep_their_values(tmp_path: Path) -> None:
    text = "def f(x):\n    return x in {1, 'k'}, ("
    text += "10**30, -(2**63), 2**31, -0.0, 3j, b'\\xff', ..., 'h\\ud800')\n"
    names: Dict[str, Any] = {}
    exec(text, names)
    parts = parts_of(names["f"].__code__)
    for protocol in (2, 4):
        data = b"\x80\x04ctypes\nCodeType\n" + pickle.dumps(parts, protocol)[2:-1] + b"R."
        ((source, status, _),) = codes(tmp_path, data).values()
        assert status in ("identical", "equivalent")
        again: Dict[str, Any] = {}
        exec(source, again)
        assert repr(again["f"](1)) == repr(names["f"](1))


def test_functions_that_share_their_code_are_counted(tmp_path: Path) -> None:
    data = b"\x80\x02ctypes\nFunctionType\nq\xf0cmarshal\nloads\n"
    data += pickle.dumps((marshal.dumps(a_function.__code__),), 2)[2:-1] + b"Rq\xf1"
    made = b"h\xf0h\xf1}X\x01\0\0\0f\x87R"
    ((_, _, about),) = codes(tmp_path, data + made + made + b"\x87.").values()
    assert "the first of 2 functions with this code" in about


def test_code_of_an_old_python_is_refused(tmp_path: Path) -> None:
    parts = (1, 1, 1, 67, b"t\0\0S", (None,), (), ("x",), "f.py", "f", 1, b"", (), ())
    data = b"\x80\x02ctypes\nCodeType\n" + pickle.dumps(parts, 2)[2:-1] + b"R."
    with pytest.raises(DecompileError, match="code of CPython 3"):
        codes(tmp_path, data)


# --- bounds --------------------------------------------------------------------------------------


def test_hostile_sizes_are_bounded(tmp_path: Path) -> None:
    doubled = b"\x80\x02]q\x00" + b"h\x00h\x00\x86q\x00" * 300 + b"."
    nested = b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b"."
    chain = b"\x80\x02coperator\nadd\nq\x00X\x01\0\0\0aq\x01" + b"0h\x00h\x01h\x01\x86Rq\x01" * 5000
    getters = b"\x80\x02cbuiltins\ngetattr\nq\x00" + b"0h\x00h\x00h\x00\x86Rq\x00" * 20_000
    memo = b"\x80\x02" + b"N" + b"".join(b"r" + struct.pack("<I", i * 7) for i in range(50_000))
    for letter in b"N(2":
        assert loads(tmp_path, bytes([letter]) * 2_000_000) == []
    for data in (doubled, nested, chain + b".", getters + b".", memo + b"."):
        (load,) = loads(tmp_path, data)
        assert load["failure"] is None
        assert codes(tmp_path, data) == {}
