# SPDX-License-Identifier: Apache-2.0
"""The state that a function can reach and change: saved, restored, and compared between runs.

The search starts at the function and its arguments.  Values are restored in place, so objects keep
their identity and guards of compiled code still hold.
"""

from __future__ import annotations

import collections
import contextlib
import copy
import functools
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any, Callable, Iterator, Mapping

import torch

from pellucid.dump.model.events import Place

from . import kept, reach
from .generators import random_state, set_random_state
from .reach import ABSENT, LISTS, PLAIN, Read, Slot

NARROW = (torch.float32, torch.float16, torch.bfloat16)
"""The floating-point types less precise than float64."""
_MOST = 50_000
"""The number of values that are visited."""
Image = Mapping[str, Any]
"""The reachable state by path: plain values, copies of tensors, and type names for the rest."""


class ProgramState:
    """The state that a call can reach, as it was before the first run."""

    def __init__(self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        function, args, kwargs = reach.bound(function, args, kwargs)
        given = dict(reach.arguments(function, args, kwargs))
        taken = {"self", *given}
        self._functions = reach.functions_of(function)
        self._slots = [(slot, slot.read()) for slot in reach.slots_of(self._functions, taken)]
        self._roots: list[tuple[str, Read]] = [("self", _reading(reach.owner_of(function)))]
        self._roots += [(slot.path, slot.read) for slot, _ in self._slots]
        for inner in self._functions:
            for name, value in reach.defaults_of(inner):
                path = reach.own_path(name, inner.__name__, taken)
                self._roots.append((path, _reading(value)))
        self._roots += [(name, _reading(value)) for name, value in given.items()]
        self.held: list[kept.Held] = []
        self.tensors: list[kept.Tensor] = []
        self.not_put_back: dict[str, str] = {}
        """The values that could not be restored, by path, and why."""
        for path, value in self._walk():
            self._keep(path, value)
        self._random = random_state()

    def _keep(self, path: str, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            self.tensors.append(kept.keep(path, value))
        elif isinstance(value, FunctionType):
            self._slots += [(slot, slot.read()) for slot in reach.slots_in(path, value)]
        elif not isinstance(value, _FIXED):
            self.held.append(kept.hold(path, value))
        if isinstance(value, torch.nn.Module):
            # Where `self.mean = …` stores a buffer, a parameter or a module.
            hidden = [vars(value)[name] for name in reach.HIDDEN if name in vars(value)]
            self.held += [kept.hold(path, names) for names in hidden]

    def restore(self) -> None:
        """Restore everything in place, including random generators.

        A value that cannot be restored does not affect the others; it is recorded in
        :attr:`not_put_back`.
        """
        steps: list[tuple[str, Callable[[], None]]] = []
        for slot, value in self._slots:
            if slot.read() is not value:
                steps.append((slot.path, functools.partial(slot.write, value)))
        steps += [(held.path, held.put_back) for held in self.held]
        steps += [(one.path, one.put_back) for one in self.tensors]
        for path, put_back in steps:
            try:
                put_back()
            except Exception as error:
                self.not_put_back[path] = f"{type(error).__name__}: {error}".partition("\n")[0]
        set_random_state(self._random)

    def now(self) -> ProgramState:
        """Return the current state of everything reachable now or before."""
        state = copy.copy(self)
        known = {id(one.tensor) for one in self.tensors} | {id(held.owner) for held in self.held}
        state._slots = [(slot, slot.read()) for slot, _ in self._slots]
        state.held = [kept.hold(held.path, held.owner) for held in self.held]
        state.tensors = [kept.keep(one.path, one.tensor) for one in self.tensors]
        state.not_put_back = {}
        for path, value in self._walk():
            if id(value) not in known:
                state._keep(path, value)
        state._random = random_state()
        return state

    @property
    def has_graph(self) -> bool:
        """Return true if a tensor belongs to an autograd graph of the caller."""
        return any(one.grad_fn is not None for one in self.tensors)

    @property
    def draws(self) -> bool:
        """Return true if torch's random numbers have been drawn since."""
        now = random_state()
        pairs = [(kept, now.get(name)) for name, kept in self._random.items()]
        pairs += [(held.content, held.owner.get_state()) for held in self._generators()]
        return any(
            isinstance(one, torch.Tensor) and other is not None and not torch.equal(one, other)
            for one, other in pairs
        )

    def _generators(self) -> Iterator[kept.Held]:
        return (held for held in self.held if isinstance(held.owner, torch.Generator))

    @contextlib.contextmanager
    def widened(self) -> Iterator[None]:
        """Convert all reachable floating-point tensors to float64 inside the block, in place."""
        narrow = [one.tensor for one in self.tensors if one.tensor.dtype in NARROW]
        before = []
        try:
            for tensor in narrow:
                with contextlib.suppress(RuntimeError):  # its memory cannot be replaced
                    data, grad = tensor.data, tensor.grad if tensor.is_leaf else None
                    if tensor.is_leaf:
                        tensor.grad = None  # its type must match the tensor's
                    tensor.data = data.double()
                    before.append((tensor, data))
                    if grad is not None:
                        tensor.grad = grad.double()
            yield
        finally:
            for tensor, data in before:
                if tensor.is_leaf:
                    tensor.grad = None
                tensor.data = data

    def image(self) -> dict[str, Any]:
        """Return copies of all values reachable now."""
        found: dict[str, Any] = {}
        for path, value in self._walk():
            if isinstance(value, torch.Tensor):
                found[path] = value.detach().clone()
                if value.is_leaf and value.grad is not None:
                    found[f"{path}.grad"] = value.grad.detach().clone()
            elif isinstance(value, torch.Generator):
                found[path] = value.get_state()
            elif isinstance(value, (float, complex, int, str, bytes, type(None))):
                found[path] = value
            elif isinstance(value, (*LISTS, dict, set, tuple, frozenset)):
                found[path] = f"{type(value).__name__} of {len(value)}"
            else:
                found[path] = type(value).__name__
        found.update(random_state())
        return found

    def owner(self, path: str) -> Any:
        """Return the container at the start of a path; None if it was not one before the runs."""
        parents = [held for held in self.held if _leads(held.path, path)]
        return max(parents, key=lambda held: len(held.path)).owner if parents else None

    def slot(self, path: str) -> Slot | None:
        """Return the global or closure variable with this path, if it is one."""
        return next((slot for slot, _ in self._slots if slot.path == path), None)

    def storing_line(self, path: str) -> Place | None:
        """Return the user's line that stores into the end of a path, according to the bytecode."""
        name = reach.stored_name(path)
        for function in self._functions:
            line = reach.storing_line(function.__code__, name)
            if line:
                return Place(function.__code__.co_filename, line, function.__code__.co_name)
        return None

    def _walk(self) -> Iterator[tuple[str, Any]]:
        """Yield every value once, with its first path, in the order of the search."""
        pending = collections.deque((path, read()) for path, read in self._roots)
        # The variables of these functions are roots themselves.
        seen = set(map(id, self._functions))
        count = 0
        while pending and count < _MOST:
            path, value = pending.popleft()
            plain = isinstance(value, PLAIN)
            if value is ABSENT or (not plain and id(value) in seen):
                continue
            if not plain:
                seen.add(id(value))
            count += 1
            inside = reach.inside(value)
            if plain or inside is not None or isinstance(value, torch.Tensor):
                yield path, value
            pending.extend((f"{path}{step}", item) for step, item in inside or ())


_FIXED = (*PLAIN, tuple, frozenset, MethodType, BuiltinMethodType)
"""The types without mutable content."""


def _reading(value: Any) -> Read:
    return lambda: value


def _leads(owner: str, path: str) -> bool:
    return path == owner or (path.startswith(owner) and path[len(owner)] in ".[")
