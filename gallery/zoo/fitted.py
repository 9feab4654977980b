# SPDX-License-Identifier: Apache-2.0
"""Inputs that a module takes, found by calling it: what an error complains of is put right.

It begins with what `forward` must have, as documented (zoo_documented.py). An error may tell of a
parameter that is missing, of a size that does not fit, or of too few or too many dimensions; each
has some remedies. Those of the error that came last in the module are tried first.
"""

import heapq
import inspect
import linecache
import math
import re
import time
import traceback
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple, Union

import torch
from torch.nn.modules.module import register_module_forward_pre_hook

from .built import Inputs, Missing, parts_in
from .documented import Tensor, documented
from .inputs import Settings, inputs_of
from .objects import Thing, thing_of

Tensors = Dict[str, Union[Tensor, Thing]]
_TRIES = 32
_DEPTH = 7
_BOOKS = 8
_SECONDS = 3.0  # of this process's time, for one module
_LARGEST = 1 << 20  # numbers in a tensor
# How errors name two sizes that ought to agree: the one there is, and the one wanted.
_SIZES = (
    r"to have (?P<want>\d+) channels, but got (?P<got>\d+) channels",
    r"shape \[\*, (?P<want>\d+)\], but got input of size\[(?:\d+, )*(?P<got>\d+)\]",
    r"cannot be multiplied \(\d+x(?P<got>\d+) and (?P<want>\d+)x\d+\)",
    r"tensor a \((?P<got>\d+)\) must match the size of tensor b \((?P<want>\d+)\)",
    r"tensor a \((?P<want>\d+)\) must match the size of tensor b \((?P<got>\d+)\)",
    r"Expected size (?P<want>\d+) but got size (?P<got>\d+)",
    r"Expected size (?P<got>\d+) but got size (?P<want>\d+)",
)
_SHORT = "Kernel size can't be greater than actual input size"
_MORE = ("out of range", "not enough values", "input to conv", "too many indices", "D input")
_LESS = ("too many values", "D input", "input to conv", "must be 2-D")


def agreeing(error: BaseException) -> Iterator[Tuple[int, int]]:
    """The sizes that an error tells of, each with the size that it ought to have."""
    for pattern in _SIZES:
        for found in re.finditer(pattern, str(error)):
            sizes = int(found["got"]), int(found["want"])
            if all(sizes):
                yield sizes


class Complaint(NamedTuple):
    """What went wrong when a module was called, and how many modules had been called by then."""

    error: BaseException
    reached: int


def complaint(module: Any, inputs: Inputs) -> Optional[Complaint]:
    """What goes wrong when a module is called, if anything does."""
    mode = module.training
    called: List[Any] = []
    handle = register_module_forward_pre_hook(lambda inner, _: called.append(type(inner)))
    try:
        made = inputs()
        with torch.no_grad():
            given = module.eval()(*made.pop("", ()), **made)
        if not any(isinstance(part, torch.Tensor) for part in parts_in(given)):
            raise Missing("no tensor comes out")
    except Exception as error:
        return Complaint(error, len(called))
    finally:
        handle.remove()
        module.train(mode)
    return None


class Search:
    """Tries inputs on a module."""

    def __init__(self, module: Any, config: Any, seconds: float = _SECONDS) -> None:
        self.module = module
        self.known = Settings(module, config)
        self.complaints: List[Complaint] = []
        self._until = time.process_time() + seconds

    def inputs(self) -> Optional[Inputs]:
        """Inputs with which the module runs, if there are any in reach."""
        for batch in (2, 1):
            found = self._search(batch)
            if found is not None:
                return found
        return None

    def _search(self, batch: int) -> Optional[Inputs]:
        every: Tensors = {**documented(self.module, self.known, batch)}
        for name in self.known.required:
            thing = thing_of(self.module, name)
            if thing is not None:
                every[name] = thing
        first = {name: every[name] for name in self.known.required if name in every}
        if not first:
            main = getattr(self.module, "main_input_name", "")
            name = main if isinstance(main, str) and main in every else next(iter(every), "")
            first = {name: every[name]} if name else {}
        pending = [(0, 0, first, 0, "")]  # those from which the most modules were called first
        seen: Set[Any] = set()
        number = 0
        while pending and len(seen) < _TRIES and time.process_time() < self._until:
            _, _, tensors, depth, before = heapq.heappop(pending)
            key = tuple(sorted(tensors.items()))
            if key in seen or any(math.prod(t.shape) > _LARGEST for t in tensors.values()):
                continue
            seen.add(key)
            made = self._maker(tensors)
            found = complaint(self.module, made)
            if found is None:
                return made
            self.complaints.append(found)
            said = str(found.error)
            if isinstance(found.error, KeyError):  # the same key may lack in several places
                said += str(traceback.extract_tb(found.error.__traceback__)[-1].lineno)
            if depth < _DEPTH and said != before:
                for way in _remedies(tensors, found.error, every):
                    number += 1
                    heapq.heappush(pending, (-found.reached, number, way, depth + 1, said))
        return None

    def _maker(self, tensors: Tensors) -> Inputs:
        return lambda: {name: tensor.make(self.known) for name, tensor in tensors.items()}


def fitting(module: Any, config: Any, seconds: float) -> Tuple[Optional[Inputs], List[Complaint]]:
    """Inputs that a module runs with, if there are any, and what it complained of others."""
    complaints: List[Complaint] = []
    for inputs in inputs_of(module, config):
        found = complaint(module, inputs)
        if found is None:
            return inputs, complaints
        complaints.append(found)
    search = Search(module, config, seconds)
    return search.inputs(), complaints + search.complaints


def mentioned(error: BaseException) -> Iterator[Set[str]]:
    """The names in an error's text, then those in the lines it came through, the last first."""
    yield set(re.findall(r"\w+", str(error)))
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        yield set(
            re.findall(r"\w+", frame.line or linecache.getline(frame.filename, frame.lineno or 0))
        )


def _remedies(tensors: Tensors, error: BaseException, every: Tensors) -> Iterator[Tensors]:
    """What might put an error right, the likeliest first."""
    told = list(mentioned(error))
    if "NoneType" in told[0] or isinstance(error, ValueError):
        for names in told:
            for name in every:
                if name in names and name not in tensors:
                    yield {**tensors, name: every[name]}
    unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
    if unknown and unknown[1] in tensors:
        yield {name: tensor for name, tensor in tensors.items() if name != unknown[1]}
    works = any(isinstance(tensor, Thing) for tensor in tensors.values())
    if works and "list index out of range" in str(error):  # it may be filled by another input
        yield from ({**tensors, name: every[name]} for name in every if name not in tensors)
    for name, tensor in tensors.items():
        if isinstance(tensor, Thing):
            for told in tensor.remedies(error):
                yield {**tensors, name: told}
            continue
        for changed in _changed(tensor, error):
            yield {**tensors, name: changed}


def _changed(tensor: Tensor, error: BaseException) -> Iterator[Tensor]:
    text, shape = str(error), tensor.shape
    if tensor.kind == "numbers":
        if _SHORT in text:  # along all that a kernel moves over
            yield Tensor(tensor.kind, (*shape[:2], *(size * 8 for size in shape[2:])))
        for got, want in agreeing(error):
            for place in reversed(range(1, len(shape))):
                if shape[place] == got != want:
                    yield _resized(tensor, place, want)
        if len(shape) > 2 and shape[-1] != shape[-2]:
            yield Tensor(tensor.kind, (*shape[:-2], shape[-1], shape[-2]))
        for got, want in agreeing(error):
            for place in reversed(range(1, len(shape))):
                size, rest = divmod(shape[place] * want, got)
                if not rest and shape[place] not in (size, got):
                    yield _resized(tensor, place, size)
        yield from _ranked(tensor, text)
        if "Long" in text or "indices" in text or "indexes" in text:
            yield Tensor("tokens", shape)
    if tensor.kind == "tokens" and "index out of range" in text:
        yield Tensor("few", shape)
    if tensor.kind == "tokens" and "too many indices" in text:  # one of several books each
        yield Tensor(tensor.kind, (*shape, _BOOKS))
    if tensor.kind == "ones" and "boolean mask" in text:
        yield Tensor("marks", shape)
    numbers = list(dict.fromkeys(int(number) for number in re.findall(r"\d+", text)))[:8]
    for place in reversed(range(1, len(shape))):
        if shape[place] in numbers and tensor.kind in ("numbers", "tokens", "ones", "marks"):
            for number in numbers:
                if 1 < number != shape[place]:
                    yield _resized(tensor, place, number)


def _ranked(tensor: Tensor, text: str) -> Iterator[Tensor]:
    shape = tensor.shape
    wanted = re.search(r"Expected \dD \(unbatched\) or (\d)D", text)
    wide = int(wanted[1]) if wanted else 0
    alone = f"input[1, {', '.join(map(str, shape))}]" in text  # it was taken for one of a batch
    if (alone or any(words in text for words in _MORE)) and len(shape) < (wide or 5):
        side = round((shape[-1] / 3) ** 0.5)
        if 3 * side * side == shape[-1]:  # a row that was a coloured square
            yield Tensor(tensor.kind, (*shape[:-1], 3, side, side))
        yield Tensor(tensor.kind, (shape[0], 1, *shape[1:]))
    if any(words in text for words in _LESS) and len(shape) > (wide or 2):
        yield Tensor(tensor.kind, (shape[0] * shape[1], *shape[2:]))


def _resized(tensor: Tensor, place: int, size: int) -> Tensor:
    return Tensor(tensor.kind, (*tensor.shape[:place], size, *tensor.shape[place + 1 :]))


def callable_at_all(cls: Any) -> bool:
    """Whether a class has a `forward` of its own."""
    return "_forward_unimplemented" not in getattr(inspect.unwrap(cls.forward), "__name__", "")
