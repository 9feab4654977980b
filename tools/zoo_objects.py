"""Objects that a `forward` works on: made by the type that it names, and filled by what it misses.

A type tells of its constructor's parameters. What else an object must be told an error says:
something to be added, for which it has a method, or a key that one of its dictionaries lacks.
"""

import inspect
import re
import traceback
from typing import Any, Iterator, NamedTuple, Optional, Tuple

import torch
from zoo_documented import Tensor, kind_of
from zoo_inputs import TOKENS, Settings

_KEY = 0  # of the first that was added


class Thing(NamedTuple):
    """How one object is made: its type, and what it is told, each by an attribute's name."""

    cls: type
    told: Tuple[Tuple[str, Optional[Tensor]], ...] = ()
    kind: str = "thing"
    shape: Tuple[int, ...] = ()

    def make(self, known: Settings) -> Any:
        """Return a new one."""
        height, width = known.pair("image_size", 64)
        sides = {"height": height, "width": width}
        given = {}
        for name, parameter in inspect.signature(self.cls).parameters.items():
            side = next((side for word, side in sides.items() if name.endswith(word)), None)
            if "torch.dtype" in str(parameter.annotation):
                given[name] = torch.get_default_dtype()
            elif side is not None:
                given[name] = side
        made = self.cls(**given)
        for name, tensor in self.told:
            if tensor is None:
                getattr(made, name)("a")
            else:
                getattr(made, name)[_KEY] = tensor.make(known)
        return made

    def remedies(self, error: BaseException) -> Iterator["Thing"]:
        """Objects that are told more, of which an error may be about the lack."""
        if isinstance(error, ValueError):
            words = re.findall(r"\w+", str(error).lower())
            for name, method in inspect.getmembers(self.cls, inspect.isfunction):
                kinds = [p.annotation for p in inspect.signature(method).parameters.values()][1:]
                if name.startswith("add_") and f"{name[4:]}s" in words and kinds == [str]:
                    yield self._telling(name, None)
        if isinstance(error, KeyError) and str(error) == str(_KEY):
            line = traceback.extract_tb(error.__traceback__)[-1].line or ""
            for name in re.findall(r"\.(\w+)\[", line):
                yield self._telling(name, Tensor(kind_of(name, "", 2), (1, TOKENS)))

    def _telling(self, name: str, tensor: Optional[Tensor]) -> "Thing":
        return self._replace(told=(*self.told, (name, tensor)))


def thing_of(module: Any, name: str) -> Optional[Thing]:
    """The object that a parameter of a module's `forward` is, by its type, if it can be made."""
    kind = inspect.signature(module.forward).parameters[name].annotation
    if not inspect.isclass(kind) or kind.__module__ != type(module).__module__:
        return None
    parameters = inspect.signature(kind).parameters.values()
    plain = all(p.default is not p.empty for p in parameters)
    return Thing(kind) if plain else None
