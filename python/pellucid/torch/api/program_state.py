# SPDX-License-Identifier: Apache-2.0
"""What a function can reach and change: kept, put back, and compared between two runs.

The values are reached from the function (its object, closure, defaults, and the globals that its
code names, as far as the program's own functions go) and from the arguments.  They are put back in
place, so that objects stay the same ones, and guards of compiled code hold.
"""

from __future__ import annotations

import collections
import contextlib
import dis
import functools
import inspect
import random
import re
import sys
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Callable, Iterator, Mapping, NamedTuple

import torch

from ..capture.sources import is_users
from ..model.events import Place
from ..taps import graph_hooks

NARROW = (torch.float32, torch.float16, torch.bfloat16)
"""The types of fractions that are less precise than float64."""
_MOST = 50_000
"""So many values are looked at."""
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_LISTS = (list, collections.deque)
_OF_MODULES = frozenset(vars(torch.nn.Module())) - {
    "training",
    "_parameters",
    "_buffers",
    "_modules",
}
_HIDDEN = ("_parameters", "_buffers", "_modules")


class Held(NamedTuple):
    """One container that can be reached, as it was."""

    path: str
    owner: Any
    content: Any


class Tensor(NamedTuple):
    """One tensor that can be reached, as it was."""

    path: str
    tensor: torch.Tensor
    content: torch.Tensor
    grad: torch.Tensor | None
    grad_content: torch.Tensor | None


Image = Mapping[str, Any]
"""What can be reached, by path: plain values, clones of tensors, names of types for the rest."""


class ProgramState:
    """What a call can reach, as it was before the first run."""

    def __init__(self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self._roots = [*_roots(function), *_arguments(function, args, kwargs)]
        self.held: list[Held] = []
        self.tensors: list[Tensor] = []
        self._globals: list[tuple[dict[str, Any], str, Any]] = []
        for path, value in self._walk():
            self._keep(path, value)
        for scope, name in _globals_of(function):
            self._globals.append((scope, name, scope.get(name, _ABSENT)))
        self._functions = _functions_of(function)
        self._random = random_state()

    def _keep(self, path: str, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            grad = value.grad if value.is_leaf else None
            kept = None if grad is None else grad.detach().clone()
            self.tensors.append(Tensor(path, value, value.detach().clone(), grad, kept))
        elif isinstance(value, (dict, set)):
            self.held.append(Held(path, value, value.copy()))
        elif isinstance(value, _LISTS):
            self.held.append(Held(path, value, list(value)))
        elif not isinstance(value, (*_PLAIN, tuple, frozenset)) and _inside(value) is not None:
            self.held.append(Held(path, value, dict(vars(value))))

    def restore(self) -> None:
        """Make everything what it was, in place, the random generators too."""
        for scope, name, value in self._globals:
            if scope.get(name, _ABSENT) is not value:
                if value is _ABSENT:
                    del scope[name]
                else:
                    scope[name] = value
        for held in self.held:
            _put_back(held)
        with torch.no_grad():
            for kept in self.tensors:
                if not _same_bits(kept.tensor, kept.content):
                    kept.tensor.detach().copy_(kept.content)
                if kept.tensor.is_leaf:
                    kept.tensor.grad = kept.grad
                if kept.grad is not None and kept.grad_content is not None:
                    kept.grad.copy_(kept.grad_content)
        set_random_state(self._random)

    @contextlib.contextmanager
    def widened(self) -> Iterator[None]:
        """Let all fractions that can be reached be float64 inside the block, the same objects."""
        narrow = [kept.tensor for kept in self.tensors if kept.tensor.dtype in NARROW]
        before = []
        try:
            for tensor in narrow:
                with contextlib.suppress(RuntimeError):  # whose memory is not to be exchanged
                    data = tensor.data
                    if tensor.is_leaf:
                        tensor.grad = None
                    tensor.data = data.double()
                    before.append((tensor, data))
            yield
        finally:
            for tensor, data in before:
                if tensor.is_leaf:
                    tensor.grad = None
                tensor.data = data

    def image(self) -> dict[str, Any]:
        """Return what can be reached now, as values of their own."""
        found: dict[str, Any] = {}
        for path, value in self._walk():
            if isinstance(value, torch.Tensor):
                found[path] = value.detach().clone()
                if value.is_leaf and value.grad is not None:
                    found[f"{path}.grad"] = value.grad.detach().clone()
            elif isinstance(value, (float, complex, int, str, bytes, type(None))):
                found[path] = value
            elif isinstance(value, (*_LISTS, dict, set, tuple, frozenset)):
                found[path] = f"{type(value).__name__} of {len(value)}"
            else:
                found[path] = type(value).__name__
        found.update(random_state())
        return found

    def owner(self, path: str) -> Any:
        """Return the container that a path leads into; None where it was none before the runs."""
        parents = [held for held in self.held if _leads(held.path, path)]
        return max(parents, key=lambda held: len(held.path)).owner if parents else None

    def global_of(self, path: str) -> tuple[dict[str, Any], str] | None:
        """Return the scope and the name of a path that is that of a global."""
        for scope, name, _ in self._globals:
            if path == name:
                return scope, name
        return None

    def storing_line(self, path: str) -> Place | None:
        """Return the line of the program that stores into what a path ends with, by its code."""
        name = re.split(r"[.\[]", path)[-1]
        for function in self._functions:
            line = _storing_line(function.__code__, name)
            if line:
                return Place(function.__code__.co_filename, line, function.__code__.co_name)
        return None

    def _walk(self) -> Iterator[tuple[str, Any]]:
        """Yield every value once, with its first path, in the order in which they are reached."""
        pending = collections.deque((path, read()) for path, read in self._roots)
        seen: set[int] = set()
        count = 0
        while pending and count < _MOST:
            path, value = pending.popleft()
            plain = isinstance(value, _PLAIN)
            if value is _ABSENT or (not plain and id(value) in seen):
                continue
            if not plain:
                seen.add(id(value))
            count += 1
            inside = _inside(value)
            if plain or inside is not None or isinstance(value, torch.Tensor):
                yield path, value
            pending.extend((f"{path}{step}", item) for step, item in inside or ())


_ABSENT = object()


def _leads(owner: str, path: str) -> bool:
    return path == owner or (path.startswith(owner) and path[len(owner)] in ".[")


def _inside(value: Any) -> list[tuple[str, Any]] | None:
    """What a value holds, with the step that leads there; None for what is not looked into."""
    if isinstance(value, (torch.Tensor, *_PLAIN)):
        return None
    if isinstance(value, dict):
        return [(f"[{_key(key, at)}]", item) for at, (key, item) in enumerate(value.items())]
    if isinstance(value, (*_LISTS, tuple)):
        return [(f"[{at}]", item) for at, item in enumerate(value)]
    if isinstance(value, (set, frozenset)):
        plain = sorted(repr(item) for item in value if isinstance(item, _PLAIN))
        return [(f"{{{item}}}", True) for item in plain]
    if isinstance(value, torch.nn.Module):
        return list(_of_module(value))
    if isinstance(value, (type, ModuleType, FunctionType, MethodType, CodeType)):
        return None
    own = getattr(value, "__dict__", None)
    module = str(type(value).__module__)
    if not isinstance(own, dict) or not (_is_own(module) or module.startswith("torch.optim")):
        return None
    return [(f".{name}", item) for name, item in own.items() if isinstance(name, str)]


def _of_module(module: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    for name, item in vars(module).items():
        if name in _HIDDEN:
            yield from ((f".{key}", inner) for key, inner in item.items())
        elif name not in _OF_MODULES and not name.startswith(("_dynamo", "_compiled_call")):
            yield f".{name}", item


@functools.lru_cache(maxsize=None)
def _is_own(module: str) -> bool:
    """Whether a module is the program's own, and no library's."""
    loaded = sys.modules.get(module)
    file = getattr(loaded, "__file__", None)
    return module == "__main__" or (isinstance(file, str) and is_users(file))


def _key(key: Any, at: int) -> str:
    return repr(key) if isinstance(key, _PLAIN) else f"key {at}"


def _put_back(held: Held) -> None:
    owner, content = held.owner, held.content
    if isinstance(owner, (dict, set)):
        if _changed(owner, content):
            owner.clear()
            owner.update(content)
    elif isinstance(owner, _LISTS):
        if len(owner) != len(content) or any(a is not b for a, b in zip(owner, content)):
            owner.clear()
            owner.extend(content)
    else:
        _restore_attributes(vars(owner), content)


def _restore_attributes(now: dict[str, Any], before: dict[str, Any]) -> None:
    for name in [name for name in now if name not in before]:
        del now[name]
    for name, value in before.items():
        if now.get(name, _ABSENT) is not value:
            now[name] = value


def _changed(owner: Any, content: Any) -> bool:
    if isinstance(owner, set):
        return bool(owner != content)
    return list(owner) != list(content) or any(owner[key] is not content[key] for key in content)


def _same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and bool(torch.equal(one.detach(), other))


# -- roots -----------------------------------------------------------------------------------------


def _roots(function: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    function = graph_hooks.uncompiled(function)
    owner = function if isinstance(function, torch.nn.Module) else None
    owner = getattr(function, "__self__", owner)
    if owner is None and not isinstance(function, FunctionType) and callable(function):
        owner = function
    if owner is not None:
        yield "self", lambda: owner
    for inner in _functions_of(function):
        names, cells = inner.__code__.co_freevars, inner.__closure__ or ()
        for name, cell in zip(names, cells):
            yield name, functools.partial(_content, cell)
    for scope, name in _globals_of(function):
        yield name, functools.partial(scope.get, name, _ABSENT)


def _content(cell: Any) -> Any:
    try:
        value = cell.cell_contents
    except ValueError:
        return _ABSENT
    return _ABSENT if isinstance(value, (FunctionType, MethodType)) else value


def _arguments(
    function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Iterator[tuple[str, Callable[[], Any]]]:
    given = dict(enumerate(args))
    names: dict[int, str] = {}
    try:
        target = graph_hooks.uncompiled(function)
        target = target.forward if isinstance(target, torch.nn.Module) else target
        kinds = inspect.signature(target).parameters.values()
        ordered = [p.name for p in kinds if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        names = dict(enumerate(ordered))
    except (TypeError, ValueError):
        pass
    for at, value in given.items():
        yield names.get(at, f"argument {at}"), functools.partial(_itself, value)
    for name, value in kwargs.items():
        yield name, functools.partial(_itself, value)


def _itself(value: Any) -> Any:
    return value


def _functions_of(function: Any) -> list[FunctionType]:
    """The program's own functions that a call may run, as far as names and closures tell."""
    found: dict[int, FunctionType] = {}
    pending = [function]
    while pending and len(found) < 500:
        value = graph_hooks.uncompiled(pending.pop())
        if isinstance(value, torch.nn.Module):
            pending += [type(inner).forward for inner in value.modules() if _own_class(inner)]
            continue
        value = getattr(value, "__func__", value)
        value = inspect.unwrap(value) if isinstance(value, FunctionType) else value
        if not isinstance(value, FunctionType):
            call = inspect.getattr_static(type(value), "__call__", None)
            if isinstance(call, FunctionType) and _own_class(value):
                pending.append(call)
            continue
        if id(value) in found or not is_users(value.__code__.co_filename):
            continue
        found[id(value)] = value
        pending += [value.__globals__.get(name) for name in _names_in(value.__code__)]
        for cell in value.__closure__ or ():
            content = _full(cell)
            if isinstance(content, (FunctionType, MethodType, torch.nn.Module)):
                pending.append(content)
    return list(found.values())


def _own_class(value: Any) -> bool:
    return _is_own(str(type(value).__module__))


def _full(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _names_in(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for const in code.co_consts:
        if isinstance(const, CodeType):
            names |= _names_in(const)
    return names


def _globals_of(function: Any) -> list[tuple[dict[str, Any], str]]:
    """The globals that the code names and that are data, not functions, classes or modules."""
    found: dict[tuple[int, str], tuple[dict[str, Any], str]] = {}
    code_like = (type, ModuleType, FunctionType, MethodType)
    for inner in _functions_of(function):
        scope = inner.__globals__
        for name in sorted(_names_in(inner.__code__)):
            stored = name in scope or _stores(inner.__code__, name)
            if stored and not isinstance(scope.get(name), code_like) and not name.startswith("__"):
                found[id(scope), name] = scope, name
    return list(found.values())


def _stores(code: CodeType, name: str) -> bool:
    return any(i.opname == "STORE_GLOBAL" and i.argval == name for i in dis.get_instructions(code))


def _storing_line(code: CodeType, name: str) -> int:
    line = 0
    for instruction in dis.get_instructions(code):
        line = _line_of(instruction) or line
        if instruction.opname in ("STORE_GLOBAL", "STORE_ATTR") and instruction.argval == name:
            return line
    return 0


def _line_of(instruction: dis.Instruction) -> int:
    """The line that begins with an instruction; 0 for one within a line."""
    starts: Any = instruction.starts_line
    return int(getattr(instruction, "line_number", None) or 0) if starts is True else starts or 0


# -- random numbers --------------------------------------------------------------------------------

GENERATORS = ("torch's generator", "CUDA's generators")
"""Those of which operations draw."""
OF_PYTHON = ("Python's random", "NumPy's random")
"""Those of which the program draws itself."""


def random_state() -> dict[str, Any]:
    """Return the state of each generator, by its name."""
    found: dict[str, Any] = {GENERATORS[0]: torch.get_rng_state()}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        for at, state in enumerate(torch.cuda.get_rng_state_all()):
            found[f"{GENERATORS[1]} [{at}]"] = state
    found[OF_PYTHON[0]] = random.getstate()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        kind, keys, *rest = numpy.random.get_state()
        found[OF_PYTHON[1]] = (kind, tuple(keys.tolist()), *rest)
    return found


def set_random_state(states: Mapping[str, Any]) -> None:
    """Put the generators back."""
    for name, state in states.items():
        if name == GENERATORS[0]:
            torch.set_rng_state(state)
        elif name.startswith(GENERATORS[1]):
            torch.cuda.set_rng_state(state, int(name.rpartition("[")[2].rstrip("]")))
        elif name == OF_PYTHON[0]:
            random.setstate(state)
        else:
            sys.modules["numpy"].random.set_state(state)
