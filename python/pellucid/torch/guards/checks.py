# SPDX-License-Identifier: Apache-2.0
"""The functions that guards in dumped ``full_code_for_*`` files call, under torch's kind names.

Importing this needs no torch.  In the captured process, the objects that guards compare by identity
are available (``kept``), and the guards decide like torch's own.  In any other process a guard
compares the description in the file, and holds if it cannot be decided that way.
"""

from __future__ import annotations

import cmath
import linecache
import math
import operator
import re
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence, Union

from pellucid.dump.model.names import scrub

from ..taps import guard_state
from ..taps.guard_objects import Decision, Kept, find

Sizes = Optional[Sequence[Optional[int]]]
Keeps = Union[int, Decision, None]

# Yielded by a guard function where torch disables torch functions.
VALUES = object()
_TUPLE_ITERATOR: type = type(iter(()))
_RANGE_ITERATOR: type = type(iter(range(0)))
_KIND = re.compile(r"\s*yield (?:LEAF_GUARD\('(?P<asked>\w+)'|(?P<kind>\w+)\()")
_SOURCE = re.compile(r"\s*\w+ = (?P<plain>.*?)(?:  # (?P<source>\S.*))?\Z")


@dataclass(frozen=True)
class Failure:
    """The first guard that failed."""

    number: int
    """The number of guards that held before it."""
    line: int
    """Its line in the file."""
    kind: str
    """torch's name for it; empty if the value itself could not be read."""
    source: str
    """The guarded value, in torch's text."""
    reason: str = ""
    """The exception, if there was one."""


class Guards:
    """The guards of one compiled version; call it to check whether the version may be used."""

    def __init__(self, decide: Callable[[Any, Any], Iterator[Any]]) -> None:
        """Take a generator function that yields the result of each guard."""
        self._decide = decide
        self.__doc__ = decide.__doc__

    def __call__(self, L: Mapping[str, Any], G: Mapping[str, Any]) -> bool:
        """Return true if every guard holds for a frame with these locals and globals."""
        return self.failing(L, G) is None

    def failing(self, L: Mapping[str, Any], G: Mapping[str, Any]) -> Failure | None:
        """Return the first guard that fails, in torch's order; None if all hold."""
        number, steps = 0, self._decide(L, G)
        off: Any = None
        try:
            for held in steps:
                if held is VALUES:
                    off = guard_state.without_torch_function()
                    off.__enter__()
                elif held:
                    number += 1
                else:
                    return self._failure(number, steps.gi_frame.f_lineno)  # type: ignore[attr-defined]
        except Exception as error:  # a value that is missing or raises
            frame = error.__traceback__
            while frame is not None and frame.tb_frame.f_code is not self._decide.__code__:  # type: ignore[attr-defined]
                frame = frame.tb_next
            line = 0 if frame is None else frame.tb_lineno
            return self._failure(number, line, f"{type(error).__name__}: {error}")
        finally:
            if off is not None:
                off.__exit__(None, None, None)
        return None

    def _failure(self, number: int, line: int, reason: str = "") -> Failure:
        file = self._decide.__code__.co_filename  # type: ignore[attr-defined]
        kind, source = "", ""
        for above in range(line, 0, -1):
            text = linecache.getline(file, above).rstrip("\n")
            found = _KIND.match(text)
            if found is not None and above == line:
                kind = found["asked"] or found["kind"]
            assigned = _SOURCE.match(text)
            if assigned is not None or not text.startswith(" "):
                source = "" if assigned is None else assigned["source"] or assigned["plain"]
                break
        return Failure(number, line, kind, source, reason)


def objects(scope: Mapping[str, Any], slug: str) -> Kept:
    """Return the objects for a file's numbers; ``scope`` is the file's ``globals()``."""
    return find(scope.get("__file__"), slug)


def torch_name(name: str) -> Any:
    """Return a function that torch's guard text may use (``FloorDiv``)."""
    return guard_state.name(name)


# -- identities ------------------------------------------------------------------------------------


def TYPE_MATCH(value: object, name: str, kept: Keeps = None) -> bool:
    """Return true if a value's class is exactly the one kept, or one with that name."""
    if isinstance(kept, int):
        return id(type(value)) == kept
    return type_name(type(value)) == name


def ID_MATCH(value: object, name: str, kept: Keeps = None) -> bool:
    """Return true if a value is a particular object; in other processes, of the object's class."""
    if isinstance(kept, int):
        return id(value) == kept
    # For a class, torch's text has the class itself; singletons are identified by name.
    names = [type_name(type(value)), *([type_name(value)] if isinstance(value, type) else [])]
    names += [repr(value)] if any(value is one for one in SINGLE) else []
    return name == "object" or name in names


SINGLE = (None, True, False, Ellipsis, NotImplemented)


def type_name(cls: type) -> str:
    """Return a class's name in ``repr`` form.

    >>> type_name(dict), type_name(type(...))
    ('dict', 'ellipsis')
    """
    name = cls.__qualname__
    return name if cls.__module__ == "builtins" else f"{cls.__module__}.{name}"


def OBJECT_ALIASING(value: object, other: object) -> bool:
    """Return true if two values are the same object."""
    return value is other


def NO_TENSOR_ALIASING(value: object, others: list[object]) -> bool:
    """Return true if a tensor is none of those seen before, and add it to them."""
    if any(value is other for other in others):
        return False
    others.append(value)
    return True


def NONE_MATCH(value: object) -> bool:
    """Return true if a value is None."""
    return value is None


def NOT_NONE(value: object) -> bool:
    """Return true if a value is not None; for the target of a weak reference, if it is alive."""
    return value is not None


def TRUE_MATCH(value: object) -> bool:
    """Return true if a value is True itself."""
    return value is True


def FALSE_MATCH(value: object) -> bool:
    """Return true if a value is False itself."""
    return value is False


# -- values ----------------------------------------------------------------------------------------


def LEAF_GUARD(kind: str, value: object, kept: Keeps, text: str) -> bool:
    """Let torch's own guard decide if its text is not Python; in other processes it holds."""
    return kept(value) if isinstance(kept, Decision) else True


def LAMBDA_GUARD(*held: Any) -> bool:
    """Return true if torch's expressions hold."""
    return all(held)


DYNAMIC_INDICES = LAMBDA_GUARD
SHAPE_GUARD = LAMBDA_GUARD


def EQUALS_MATCH(value: object, wanted: Any, text: str | None = None) -> bool:
    """Return true if a value has the same type as another, and is equal."""
    if text is not None:
        if isinstance(wanted, Decision):
            return wanted(value)
        return text.endswith(scrub(repr(value)))
    return type(value) is type(wanted) and bool(value == wanted)


def LENGTH_CHECK(value: Any, length: int) -> bool:
    """Return true if a sequence has this many elements."""
    return len(value) == length


def DICT_LENGTH(value: object, length: int) -> bool:
    """Return true if a value is a dict with this many keys, whatever its class overrides."""
    return isinstance(value, dict) and dict.__len__(value) == length


def TUPLE_ITERATOR_LEN(value: Any, length: int) -> bool:
    """Return true if a value is an iterator over a tuple with this many elements left."""
    return type(value) is _TUPLE_ITERATOR and operator.length_hint(value) == length


def tuple_iterator_item(value: Any, index: int) -> object:
    """Return the element that a tuple iterator yields after ``index`` others; do not advance it."""
    reduced: Any = value.__reduce__()
    _, (items,), *state = reduced
    return items[(state[0] if state else 0) + index]


def RANGE_ITERATOR_MATCH(value: Any, wanted: tuple[int, int, int]) -> bool:
    """Return true if a value is an iterator over a range with this start, stop and step left."""
    if type(value) is not _RANGE_ITERATOR:
        return False
    reduced: Any = value.__reduce__()
    _, (rest,), *state = reduced
    # Before Python 3.12, this is the whole range, and the state is the iterator's position.
    begins = rest.start + (state[0] or 0 if state else 0) * rest.step
    ends = rest.start + len(rest) * rest.step
    return (begins, ends, rest.step) == wanted


def DICT_CONTAINS(value: object, key: object, contains: bool) -> bool:
    """Return true if a dict contains a key, or lacks it."""
    return (isinstance(value, dict) and dict.__contains__(value, key)) == contains


def SET_CONTAINS(value: object, item: object, contains: bool) -> bool:
    """Return true if a set contains an item, or lacks it."""
    return (isinstance(value, (set, frozenset)) and item in value) == contains


def MAPPING_KEYS_MATCH(value: Mapping[Any, Any], keys: list[Any]) -> bool:
    """Return true if a mapping has exactly these keys, in this order."""
    return list(value.keys()) == keys


def DICT_KEYS(
    value: Any, cls: str | None, least: int, frame: object, asked: Keeps = None, kept: Keeps = None
) -> bool:
    """Return true if a value is a dict of exactly this class, with the original number of keys.

    Only torch knows that number, and reveals it for a dict in a ``frame`` with a different number;
    in other processes, at least the keys with guards must exist.
    """
    if not (isinstance(value, dict) if cls is None else TYPE_MATCH(value, cls, kept)):
        return False
    if not isinstance(asked, Decision):
        return dict.__len__(value) >= least
    # torch first checks the guards on its own state, which must be the program's.
    with guard_state.with_torch_function():
        return asked((frame, value))


def instance_dict(value: object) -> Any:
    """Return an object's own dictionary, bypassing its class's ``__getattribute__``."""
    return object.__getattribute__(value, "__dict__")


def given(value: object) -> object:
    """Return a function's defaults or closure.  Raises TypeError for None, if it has none."""
    if value is None:
        raise TypeError("the function has none")
    return value


def item_by_repr(value: dict[Any, Any], text: str) -> object:
    """Return the value of the key that prints as ``text``.  Raises KeyError if there is none."""
    for key in dict.keys(value):
        if text in (repr(key), scrub(repr(key))):
            return dict.__getitem__(value, key)
    raise KeyError(text)


def NO_HASATTR(value: object, name: str) -> bool:
    """Return true if a value lacks an attribute, or raises, which is the same to torch."""
    try:
        return not hasattr(value, name)
    except Exception:
        return True


def FLOAT_IS_NAN(value: object) -> bool:
    """Return true if a value is a float NaN."""
    return type(value) is float and math.isnan(value)


def COMPLEX_IS_NAN(value: object) -> bool:
    """Return true if a value is a complex NaN."""
    return type(value) is complex and cmath.isnan(value)


# -- tensors ---------------------------------------------------------------------------------------


def TENSOR_MATCH(
    value: Any,
    cls: str,
    kept: Keeps = None,
    *,
    dtype: str,
    device: int | None,
    requires_grad: bool,
    size: Sizes,
    stride: Sizes,
    keys: str,
) -> bool:
    """Return true if a tensor is like the one compiled for; None stands for any number.

    ``device`` is the device's index, ``keys`` the dispatch keys with the thread's included and
    excluded keys applied, or the number as which torch saves those of a tensor.
    """
    if isinstance(kept, int):
        if id(type(value)) != kept:
            return False
    elif cls not in (type_name(type(value)), type(value).__qualname__):
        return False
    told = guard_state.dispatch_keys(value)
    wanted = guard_state.keys_of_number(int(keys)) if keys.isdigit() else keys
    if None not in (told, wanted) and told != wanted:
        return False
    return (
        str(value.dtype) == dtype
        and value.device.index == device
        and bool(value.requires_grad) == requires_grad
        and len(value.shape) == len(size or ())
        and _match(value.shape, size)
        and _match(guard_state.strides(value), stride)
    )


def _match(actual: Sequence[int], wanted: Sizes) -> bool:
    return all(w is None or a == w for a, w in zip(actual, wanted or ()))


def DIMENSION_DYNAMIC_MARKING_GUARD(value: object, *held: Any) -> bool:
    """Return true if a tensor has no dynamic or static marks, or only those in ``held``."""
    return NO_HASATTR(value, "_has_dynamo_dim_marking") or (bool(held) and all(held))


def STORAGE_OVERLAPPING(overlapping: list[Any], others: list[Any]) -> bool:
    """Return true if exactly the tensors of the first list share memory with another one."""
    found = guard_state.overlapping([*overlapping, *others])
    return found is None or found == set(range(len(overlapping)))


def SYMBOLIC_SHAPE_GUARD(value: object, cls: type) -> bool:
    """Return true if a number used in shape guards has the class that they were built for."""
    return isinstance(value, cls)


# -- the state of the process ----------------------------------------------------------------------


def GLOBAL_STATE(wanted: Mapping[str, Any]) -> bool:
    """Return true if grad mode, autocast, default dtype, … are unchanged: torch's list of them."""
    now = guard_state.global_state()
    return now is None or _settings(now) == _settings(wanted)


def _settings(state: Mapping[str, Any]) -> dict[str, Any]:
    autocast = dict(state.get("autocast_state") or {})
    # The autocast dtype is irrelevant while autocast is off.
    pairs = zip(autocast.get("enabled", ()), autocast.get("dtype", ()))
    autocast["dtype"] = [dtype if enabled else None for enabled, dtype in pairs]
    return {**state, "autocast_state": autocast}


def TORCH_FUNCTION_MODE_STACK(kept: Keeps) -> bool:
    """Return true if modes of the same classes are active; in other processes, if none is."""
    return kept(None) if isinstance(kept, Decision) else not guard_state.function_modes()


def DEFAULT_DEVICE(wanted: object) -> bool:
    """Return true if ``torch.set_default_device`` has set this device, or none."""
    return bool(guard_state.default_device(wanted) == wanted)


def DUAL_LEVEL_MATCH(wanted: int) -> bool:
    """Return true if forward-mode differentiation is at this level."""
    return bool(guard_state.dual_level(wanted) == wanted)
