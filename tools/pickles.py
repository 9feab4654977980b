# SPDX-License-Identifier: Apache-2.0
"""Make pickles of functions and classes with five writers, and find and prove their code.

    python tools/pickles.py make FOLDER PYTHON...    a venv's Python with cloudpickle, dill, joblib
    python tools/pickles.py check FOLDER             prints counts; exit code 1 if one is missing

Each file has a list of the functions that it must hold (`FILE.json`). Without torch, the layout of
`torch.save` is written with `zipfile`. `check` runs under an audit hook: the engine must import,
unpickle and execute nothing.
"""

import collections
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Counter, List, Set

# Runs in each Python: it has to work from 3.8 on.
MAKER = r'''
import ast, base64, importlib, io, json, marshal, pickle, random, sys, textwrap, types, zipfile
import cloudpickle, dill, joblib
from pathlib import Path

folder = Path(sys.argv[1])
dill.settings["recurse"] = True
MODULES = """textwrap statistics fnmatch posixpath shlex string bisect heapq calendar colorsys copy
difflib fractions glob inspect keyword linecache locale mimetypes numbers operator pprint quopri
random reprlib sched shutil tokenize traceback types uuid warnings weakref""".split()
main = sys.modules["__main__"]


def functions():
    for name in MODULES:
        module = importlib.import_module(name)
        for key, value in sorted(vars(module).items()):
            if isinstance(value, types.FunctionType) and value.__module__ == name:
                yield key, value


def own(function):
    """A copy that belongs to __main__, with the globals that it names if they can be written."""
    kept = {}
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, (int, str, float, bytes, tuple, types.ModuleType)):
            kept[name] = value
    made = types.FunctionType(function.__code__, {"__name__": "__main__", **kept},
                              function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    made.__module__ = "__main__"
    return made


def counter(start):
    count = start
    def add(step=1, *, twice=False):
        nonlocal count
        count += step * (2 if twice else 1)
        return [count for _ in range(step)]
    return add


class Model:
    """A model."""
    rate = 0.5
    def __init__(self, size, *, scale=1.0):
        self.weights = [scale] * size
    @property
    def size(self):
        return len(self.weights)
    @staticmethod
    def clip(value, low=-1.0, high=1.0):
        return max(low, min(high, value))
    def forward(self, values):
        total = sum(w * v for w, v in zip(self.weights, values))
        try:
            return self.clip(total * self.rate)
        except TypeError as error:
            raise ValueError("no number: %s" % total) from error


class ByCode(pickle._Pickler):
    """Functions as calls of types.FunctionType, and code objects in one of two forms."""
    dispatch = dict(pickle._Pickler.dispatch)
    as_marshal = False
    def save_function(self, function):
        self.save_reduce(types.FunctionType, (function.__code__, {}, function.__name__,
                                              function.__defaults__), obj=function)
    def save_code(self, code):
        if self.as_marshal:
            return self.save_reduce(marshal.loads, (marshal.dumps(code),), obj=code)
        names = "argcount posonlyargcount kwonlyargcount nlocals stacksize flags code consts names"
        names += " varnames filename name"
        new = sys.version_info >= (3, 11)
        names += " qualname firstlineno linetable exceptiontable" if new else " firstlineno "
        names += "" if new else "linetable" if sys.version_info >= (3, 10) else "lnotab"
        names += " freevars cellvars"
        self.save_reduce(types.CodeType, tuple(getattr(code, "co_" + n) for n in names.split()),
                         obj=code)
    def save_type_(self, value):
        self.save_global(value, {types.FunctionType: "FunctionType",
                                 types.CodeType: "CodeType"}.get(value))
    dispatch[types.FunctionType] = save_function
    dispatch[types.CodeType] = save_code


def by_pickle(value, number):
    class Pickler(ByCode):
        as_marshal = number % 2 == 0
    types.FunctionType.__module__ if False else None
    out = io.BytesIO()
    pickler = Pickler(out, number % (pickle.HIGHEST_PROTOCOL + 1))
    # The types are found in `types`, though they say that they are in `builtins`.
    plain = pickler.save_global
    def save_global(obj, name=None):
        if obj is types.FunctionType:
            return pickler.write(b"ctypes\nFunctionType\n")
        if obj is types.CodeType:
            return pickler.write(b"ctypes\nCodeType\n")
        return plain(obj, name)
    pickler.save_global = save_global
    ByCode.dispatch[type] = lambda self, obj: save_global(obj)
    pickler.dump(value)
    return out.getvalue()


def by_torch(value, number):
    module = (cloudpickle, dill)[number % 2]
    try:
        import torch
    except ImportError:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("archive/data.pkl", module.dumps(value, protocol=2))
            archive.writestr("archive/version", "3\n")
        return out.getvalue()
    out = io.BytesIO()
    torch.save({"net": value, "w": torch.zeros(3)}, out, pickle_module=module,
               _use_new_zipfile_serialization=number % 3 != 0)
    return out.getvalue()


def by_joblib(value, number):
    out = io.BytesIO()
    # joblib pickles by reference: what is defined in __main__ goes in as cloudpickle's bytes.
    joblib.dump([cloudpickle.dumps(value), list(range(number))], out,
                compress=("zlib", 3) if number % 2 else 0)
    return out.getvalue()


WRITERS = {
    "pickle": by_pickle,
    "cloudpickle": lambda value, number: cloudpickle.dumps(value, protocol=2 + number % 4),
    "dill": lambda value, number: dill.dumps(value, protocol=number % 6),
    "joblib": by_joblib,
    "torch": by_torch,
}


def names_of(value):
    if isinstance(value, types.FunctionType):
        return {value.__qualname__}
    return {getattr(v, "fget", getattr(v, "__func__", v)).__qualname__
            for v in vars(value).values()
            if isinstance(v, (types.FunctionType, property, staticmethod))}


Model.__module__ = "__main__"
found = [own(function) for _, function in functions()]
random.Random(5).shuffle(found)
objects = [Model, counter(3), lambda x, y=(1, 2): x + y[0]] + found[:49]
for writer, write in WRITERS.items():
    for number, value in enumerate(objects):
        if writer == "pickle" and not isinstance(value, types.FunctionType):
            continue
        if writer == "pickle" and value.__closure__:
            continue
        try:
            data = write(value, number)
        except Exception as error:
            print("skipped", writer, number, type(error).__name__, error, file=sys.stderr)
            continue
        name = "%s_%02d.bin" % (writer, number)
        (folder / name).write_bytes(data)
        names = {value.__name__} if writer == "pickle" else names_of(value)
        (folder / (name + ".json")).write_text(json.dumps(sorted(names)))
'''


def make(folder: Path, pythons: List[str]) -> int:
    """Make the files of each Python in a folder of its version."""
    for python in pythons:
        version = subprocess.check_output(
            [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], text=True
        ).strip()
        own = folder / version
        own.mkdir(parents=True, exist_ok=True)
        script = own / "maker.py"
        script.write_text(MAKER)
        subprocess.run([python, "-W", "ignore", str(script), str(own)], check=True)
        script.unlink()
    return 0


_FORBIDDEN = ("pickle.find_class", "marshal.loads", "exec", "compile", "os.system")


def check(folder: Path) -> int:
    """Find and prove the code of every file; print what is missing, and counts."""
    from pellucid import _core, containers

    seen: Set[str] = set()
    watching = [False]

    def watch(event: str, arguments: Any) -> None:
        if watching[0] and (event in _FORBIDDEN or event == "import"):
            seen.add(f"{event} {arguments[:1]}")

    sys.addaudithook(watch)
    counts: Counter[str] = collections.Counter()
    start = time.monotonic()
    for path in sorted(folder.rglob("*.bin")):
        counts["files"] += 1
        wanted = set(json.loads(Path(f"{path}.json").read_text()))
        watching[0] = True
        members = [(each.name, each.read()) for each in containers.contents_of(path).members]
        for name, data in members:
            found = _core.decompile_pyc(data, verify=True)
            status = found.verdict[0] if found.verdict else "unproven"
            version = "{}.{}".format(*found.version)
            counts["code objects"] += 1
            counts[status] += 1
            if status == "unproven":
                print(f"{path}: {name}: unproven: {found.doubt or found.verdict}")
            elif version != path.parent.name:
                counts["read as another version"] += 1
        watching[0] = False
        names = {name.rpartition("/")[2].partition("~")[0] for name, _ in members}
        missing = {name for name in wanted if not names & {name, name.rpartition(".")[2]}}
        counts["missing"] += len(missing)
        if missing:
            print(f"{path}: missing {sorted(missing)}; found {sorted(names)}")
    for name, count in counts.items():
        print(f"{count:7} {name}")
    print(f"{time.monotonic() - start:7.1f} s; imports, calls and unpickling seen: {sorted(seen)}")
    return 1 if counts["missing"] or counts["unproven"] or seen else 0


if __name__ == "__main__":
    command, where, *rest = sys.argv[1:]
    sys.exit(make(Path(where), rest) if command == "make" else check(Path(where)))
