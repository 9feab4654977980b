# SPDX-License-Identifier: Apache-2.0
"""What the guards of a dumped ``full_code_for_*`` file call, under torch's names for the kinds.

Importing this needs no torch.  In the process that was captured, what a guard compares with by
identity is there (``kept``), and the guards decide as torch's own do.  In any other process a guard
goes by the description in the file, and one that cannot be decided that way is taken to hold.
"""

from __future__ import annotations

import cmath
import linecache
import math
import operator
import re
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence, Union

from ..model.names import scrub
from ..taps import guard_state
from ..taps.guard_objects import Decision, Kept, find

Sizes = Optional[Sequence[Optional[int]]]
Keeps = Union[int, Decision, None]

# What a guard function yields where torch stops to look at torch functions.
VALUES = object()
_TUPLE_ITERATOR: type = type(iter(()))
_RANGE_ITERATOR: type = type(iter(range(0)))
_KIND = re.compile(r"\s*yield (?:LEAF_GUARD\('(?P<asked>\w+)'|(?P<kind>\w+)\()")
_SOURCE = re.compile(r"\s*\w+ = (?P<plain>.*?)(?:  # (?P<source>\S.*))?\Z")


@dataclass(frozen=True)
class Failure:
    """The first guard that does not hold."""

    number: int
    """How many guards held before it."""
    line: int
    """Where it stands in the file."""
    kind: str
    """torch's name for it; empty when the value itself could not be had."""
    source: str
    """The value that it is about, as torch words it."""
    reason: str = ""
    """The exception, when there was one."""


class Guards:
    """The guards of one compiled version; call it to ask whether the version may be used."""

    def __init__(self, decide: Callable[[Any, Any], Iterator[Any]]) -> None:
        """Take a generator function that yields, guard by guard, whether it holds."""
        self._decide = decide
        self.__doc__ = decide.__doc__

    def __call__(self, L: Mapping[str, Any], G: Mapping[str, Any]) -> bool:
        """Whether every guard holds for a frame with these locals and globals."""
        return self.failing(L, G) is None

    def failing(self, L: Mapping[str, Any], G: Mapping[str, Any]) -> Failure | None:
        """The first guard that does not hold, in torch's order; None when all do."""
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
        except Exception as error:  # a value that is not there, or does not answer
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
    """What a file's numbers stand for in this process; ``scope`` is the file's ``globals()``."""
    return find(scope.get("__file__"), slug)


def torch_name(name: str) -> Any:
    """A function that torch lets the wording of a guard use (``FloorDiv``)."""
    return guard_state.name(name)


# -- identities ------------------------------------------------------------------------------------


def TYPE_MATCH(value: object, name: str, kept: Keeps = None) -> bool:
    """Whether a value is exactly of a class: the one kept, or one with that name."""
    if isinstance(kept, int):
        return id(type(value)) == kept
    return type_name(type(value)) == name


def ID_MATCH(value: object, name: str, kept: Keeps = None) -> bool:
    """Whether a value is one particular object; elsewhere, whether it is of that object's class."""
    if isinstance(kept, int):
        return id(value) == kept
    # Of a class, torch tells the class itself; what there is but one of is told by its name.
    names = [type_name(type(value)), *([type_name(value)] if isinstance(value, type) else [])]
    names += [repr(value)] if any(value is one for one in SINGLE) else []
    return name == "object" or name in names


SINGLE = (None, True, False, Ellipsis, NotImplemented)


def type_name(cls: type) -> str:
    """A class's name as ``repr`` has it.

    >>> type_name(dict), type_name(type(...))
    ('dict', 'ellipsis')
    """
    name = cls.__qualname__
    return name if cls.__module__ == "builtins" else f"{cls.__module__}.{name}"


def OBJECT_ALIASING(value: object, other: object) -> bool:
    """Whether two values are one object."""
    return value is other


def NO_TENSOR_ALIASING(value: object, others: list[object]) -> bool:
    """Whether a tensor is none of those seen before; then it is one of them from now on."""
    if any(value is other for other in others):
        return False
    others.append(value)
    return True


def NONE_MATCH(value: object) -> bool:
    """Whether a value is None."""
    return value is None


def NOT_NONE(value: object) -> bool:
    """Whether a value is something; for a weak reference's, whether it is still alive."""
    return value is not None


def TRUE_MATCH(value: object) -> bool:
    """Whether a value is True itself."""
    return value is True


def FALSE_MATCH(value: object) -> bool:
    """Whether a value is False itself."""
    return value is False


# -- values ----------------------------------------------------------------------------------------


def LEAF_GUARD(kind: str, value: object, kept: Keeps, text: str) -> bool:
    """Let torch's own guard decide, where its wording is no Python; elsewhere it holds."""
    return kept(value) if isinstance(kept, Decision) else True


def LAMBDA_GUARD(*held: Any) -> bool:
    """Whether torch's expressions hold."""
    return all(held)


DYNAMIC_INDICES = LAMBDA_GUARD
SHAPE_GUARD = LAMBDA_GUARD


def EQUALS_MATCH(value: object, wanted: Any, text: str | None = None) -> bool:
    """Whether a value is of the same type as another, and equal."""
    if text is not None:
        if isinstance(wanted, Decision):
            return wanted(value)
        return text.endswith(scrub(repr(value)))
    return type(value) is type(wanted) and bool(value == wanted)


def LENGTH_CHECK(value: Any, length: int) -> bool:
    """Whether a sequence has so many elements."""
    return len(value) == length


def DICT_LENGTH(value: object, length: int) -> bool:
    """Whether a value is a dict with so many keys, whatever its class says."""
    return isinstance(value, dict) and dict.__len__(value) == length


def TUPLE_ITERATOR_LEN(value: Any, length: int) -> bool:
    """Whether a value is an iterator over a tuple with so many elements to come."""
    return type(value) is _TUPLE_ITERATOR and operator.length_hint(value) == length


def tuple_iterator_item(value: Any, index: int) -> object:
    """The element that a tuple's iterator has after so many more, without moving it."""
    reduced: Any = value.__reduce__()
    _, (items,), *state = reduced
    return items[(state[0] if state else 0) + index]


def RANGE_ITERATOR_MATCH(value: Any, wanted: tuple[int, int, int]) -> bool:
    """Whether a value is an iterator over a range that goes on as told: start, stop, step."""
    if type(value) is not _RANGE_ITERATOR:
        return False
    reduced: Any = value.__reduce__()
    _, (rest,), *state = reduced
    # Before Python 3.12 the range is the whole one, and the state says how far the iterator is.
    begins = rest.start + (state[0] or 0 if state else 0) * rest.step
    ends = rest.start + len(rest) * rest.step
    return (begins, ends, rest.step) == wanted


def DICT_CONTAINS(value: object, key: object, contains: bool) -> bool:
    """Whether a dict has, or has not, a key."""
    return (isinstance(value, dict) and dict.__contains__(value, key)) == contains


def SET_CONTAINS(value: object, item: object, contains: bool) -> bool:
    """Whether a set has, or has not, an item."""
    return (isinstance(value, (set, frozenset)) and item in value) == contains


def MAPPING_KEYS_MATCH(value: Mapping[Any, Any], keys: list[Any]) -> bool:
    """Whether a mapping has exactly these keys, in this order."""
    return list(value.keys()) == keys


def DICT_KEYS(
    value: Any, cls: str | None, least: int, frame: object, asked: Keeps = None, kept: Keeps = None
) -> bool:
    """Whether a value is a dict of exactly this class, with as many keys as it had.

    How many that were only torch knows, which tells it of a dict in a ``frame`` that has not so
    many; elsewhere at least those must be there that have guards.
    """
    if not (isinstance(value, dict) if cls is None else TYPE_MATCH(value, cls, kept)):
        return False
    if not isinstance(asked, Decision):
        return dict.__len__(value) >= least
    # torch begins with the guards of its own state, which must be as the program has it.
    with guard_state.with_torch_function():
        return asked((frame, value))


def instance_dict(value: object) -> Any:
    """An object's own dictionary, without asking a ``__getattribute__`` of its class."""
    return object.__getattribute__(value, "__dict__")


def given(value: object) -> object:
    """A function's defaults or closure.  Raises TypeError for None, when it has none."""
    if value is None:
        raise TypeError("the function has none")
    return value


def item_by_repr(value: dict[Any, Any], text: str) -> object:
    """The value of the key that prints as ``text``.  Raises KeyError when there is none."""
    for key in dict.keys(value):
        if text in (repr(key), scrub(repr(key))):
            return dict.__getitem__(value, key)
    raise KeyError(text)


def NO_HASATTR(value: object, name: str) -> bool:
    """Whether a value has no such attribute, or does not answer, which is the same to torch."""
    try:
        return not hasattr(value, name)
    except Exception:
        return True


def FLOAT_IS_NAN(value: object) -> bool:
    """Whether a value is a float that is no number."""
    return type(value) is float and math.isnan(value)


def COMPLEX_IS_NAN(value: object) -> bool:
    """Whether a value is a complex that is no number."""
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
    """Whether a tensor is like the one that was compiled for; None stands for any number.

    ``device`` is the device's index, ``keys`` the dispatch keys with those that the thread adds and
    leaves out.
    """
    if isinstance(kept, int):
        if id(type(value)) != kept:
            return False
    elif cls not in (type_name(type(value)), type(value).__qualname__):
        return False
    told = guard_state.dispatch_keys(value)
    if told is not None and told != keys:
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
    """Whether no dimension of a tensor was marked dynamic or static, or only as ``held`` says."""
    return NO_HASATTR(value, "_has_dynamo_dim_marking") or (bool(held) and all(held))


def STORAGE_OVERLAPPING(overlapping: list[Any], others: list[Any]) -> bool:
    """Whether exactly the tensors of the first list share memory with another one."""
    found = guard_state.overlapping([*overlapping, *others])
    return found is None or found == set(range(len(overlapping)))


def SYMBOLIC_SHAPE_GUARD(value: object, cls: type) -> bool:
    """Whether a number that shape guards use is of the class that they were made for."""
    return isinstance(value, cls)


# -- the state of the process ----------------------------------------------------------------------


def GLOBAL_STATE(wanted: Mapping[str, Any]) -> bool:
    """Whether grad mode, autocast, default dtype, … are as they were: torch's list of them."""
    now = guard_state.global_state()
    return now is None or _settings(now) == _settings(wanted)


def _settings(state: Mapping[str, Any]) -> dict[str, Any]:
    autocast = dict(state.get("autocast_state") or {})
    # Which dtype autocast would use says nothing where it is off.
    pairs = zip(autocast.get("enabled", ()), autocast.get("dtype", ()))
    autocast["dtype"] = [dtype if enabled else None for enabled, dtype in pairs]
    return {**state, "autocast_state": autocast}


def TORCH_FUNCTION_MODE_STACK(kept: Keeps) -> bool:
    """Whether torch function modes of the same classes are on; elsewhere, whether none is."""
    return kept(None) if isinstance(kept, Decision) else not guard_state.function_modes()


def DEFAULT_DEVICE(wanted: object) -> bool:
    """Whether ``torch.set_default_device`` has set this device, or none."""
    return bool(guard_state.default_device(wanted) == wanted)


def DUAL_LEVEL_MATCH(wanted: int) -> bool:
    """Whether forward-mode differentiation is at this level."""
    return bool(guard_state.dual_level(wanted) == wanted)
