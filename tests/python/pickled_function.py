"""Writes pickles of a function, as cloudpickle does: its code is the call of a constructor.

The argument is the protocol. Runs in every Python.
"""

import importlib
import io
import pickle
import sys
import types

_FRONT = (
    "argcount posonlyargcount kwonlyargcount nlocals stacksize flags code consts names varnames"
)
_FIELDS = {
    8: f"{_FRONT} filename name firstlineno lnotab freevars cellvars",
    10: f"{_FRONT} filename name firstlineno linetable freevars cellvars",
    11: f"{_FRONT} filename name qualname firstlineno linetable exceptiontable freevars cellvars",
}


class _Types:
    def __reduce__(self):
        return importlib.import_module, ("types",)


class Pickler(pickle._Pickler):
    def save(self, obj, save_persistent_id=True):
        minor = sys.version_info[1]
        if isinstance(obj, types.CodeType):
            fields = _FIELDS[max(known for known in _FIELDS if known <= minor)].split()
            arguments = tuple(getattr(obj, "co_" + field) for field in fields)
            return self._save_call("CodeType", arguments, obj)
        if isinstance(obj, types.FunctionType) and obj.__module__ == "__main__":
            arguments = obj.__code__, {"offset": 5}, obj.__name__, obj.__defaults__
            return self._save_call("FunctionType", arguments, obj)
        return super().save(obj, save_persistent_id)

    def _save_call(self, name, arguments, obj):
        if id(obj) in self.memo:
            return self.write(self.get(self.memo[id(obj)][0]))
        self.save_reduce(getattr, (_Types(), name))
        self.save(arguments)
        self.write(pickle.REDUCE)
        self.memoize(obj)


def shift(values, by=2):
    def moved(value):
        return value + by + offset  # noqa: F821

    return [moved(value) for value in values], sorted(values, key=lambda value: -value)


protocol = int(sys.argv[1])
out = io.BytesIO()
Pickler(out, protocol).dump({"f": shift, "again": shift, "many": "x" * 100000})
sys.stdout.buffer.write(out.getvalue() + pickle.dumps("the second", protocol))
