# SPDX-License-Identifier: Apache-2.0
"""Objects that a `forward` works on: made by the type that it names, and filled by what it misses.

A type tells of its constructor's parameters. What else an object must be told an error says:
something to be added, for which it has a method, a key that one of its dictionaries lacks, or
something that the failing code looks for in one of its lists.
"""

import contextlib
import inspect
import re
import traceback
from typing import Any, Iterator, List, NamedTuple, Optional, Tuple

import torch

from .documented import Tensor, kind_of
from .inputs import TOKENS, Settings, required

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
            _tell(made, name, tensor, known)
        return made

    def remedies(self, error: BaseException) -> Iterator["Thing"]:
        """Objects that are told more, of which an error may be about the lack."""
        if isinstance(error, ValueError):
            words = re.findall(r"\w+", str(error).lower())
            for name, wanted in self._methods():
                named = {f"{name[4:]}s", name.rpartition("_")[2]} & {*words}
                if name.startswith("add_") and named and {*wanted} <= {str, int, torch.Tensor}:
                    yield self._telling(name, None)
            for name in self._asked(error):
                yield self._telling(name, None)
        if isinstance(error, KeyError) and str(error) == str(_KEY):
            line = traceback.extract_tb(error.__traceback__)[-1].line or ""
            for name in re.findall(r"\.(\w+)\[", line):
                for method in self._keeping(name):  # before all else: the others may need it
                    yield self._replace(told=((method, None), *self.told))
                yield self._telling(name, Tensor(kind_of(name, "", 2), (1, TOKENS)))

    def _telling(self, name: str, tensor: Optional[Tensor]) -> "Thing":
        return self._replace(told=(*self.told, (name, tensor)))

    def _methods(self) -> Iterator[Tuple[str, List[Any]]]:
        """The methods, each with the types of what it must be given."""
        for name, method in inspect.getmembers(self.cls, inspect.isfunction):
            known = inspect.signature(method).parameters
            yield name, [known[wanted].annotation for wanted in required(method)]

    def _keeping(self, name: str) -> Iterator[str]:
        """The methods that need a number alone, and put a key into the dictionary of this name."""
        for method, wanted in self._methods():
            text = inspect.getsource(getattr(self.cls, method)) if wanted == [int] else ""
            if re.search(rf"\bself\.{name}\[\w+\] = ", text):
                yield method

    def _asked(self, error: BaseException) -> Iterator[str]:
        """The empty lists of the object that the failing code looks for something in."""
        for frame, _ in traceback.walk_tb(error.__traceback__):
            for local, value in frame.f_locals.items():
                if isinstance(value, self.cls):
                    with contextlib.suppress(OSError):
                        text = inspect.getsource(frame.f_code)
                        found = re.findall(rf"(?<!for )\b\w+ in {local}\.(\w+)", text)
                        yield from (name for name in found if getattr(value, name, None) == [])


def _tell(made: Any, name: str, tensor: Optional[Tensor], known: Settings) -> None:
    """Call a method, or put something into a list or a dictionary of an object."""
    part = getattr(made, name)
    if isinstance(part, list):
        part.append(_KEY)
    elif tensor is not None:
        part[_KEY] = tensor.make(known)
    else:
        # A tensor is laid on one picture, and has one channel.
        laid = Tensor(kind_of(name, "", 2), (1, 1, *known.pair("image_size", 64)))
        plain = {str: "a", int: _KEY}
        kinds = [inspect.signature(part).parameters[wanted].annotation for wanted in required(part)]
        part(*(plain[kind] if kind in plain else laid.make(known) for kind in kinds))


def thing_of(module: Any, name: str) -> Optional[Thing]:
    """The object that a parameter of a module's `forward` is, by its type, if it can be made."""
    kind = inspect.signature(module.forward).parameters[name].annotation
    if not inspect.isclass(kind) or kind.__module__ != type(module).__module__:
        return None
    parameters = inspect.signature(kind).parameters.values()
    plain = all(p.default is not p.empty for p in parameters)
    return Thing(kind) if plain else None
