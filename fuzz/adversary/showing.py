# SPDX-License-Identifier: Apache-2.0
"""What is told of a value, an exception or a function, so that two programs can be compared."""

import types
from typing import Any, List, Optional

from spies import Spy

MOST = 20  # items that are asked of a generator


def shown(x: Any, depth: int = 0) -> Any:
    """Return what a value is, without addresses; generators and functions are asked."""
    if x is None or isinstance(x, (bool, int, float, complex, str, bytes, type(...))):
        return type(x).__name__, repr(x)[:300]
    if depth > 6:
        return type(x).__name__
    if isinstance(x, (list, tuple)):
        return [type(x).__name__, *(shown(y, depth + 1) for y in x[:200])]
    if isinstance(x, (set, frozenset)):
        return [type(x).__name__, *sorted(repr(shown(y, depth + 1)) for y in x)]
    if isinstance(x, dict):
        return ["dict"] + [(shown(k, depth + 1), shown(v, depth + 1)) for k, v in list(x.items())]
    if isinstance(x, BaseException):
        return raised(x, depth + 1)
    if isinstance(x, (types.GeneratorType, types.CoroutineType)):
        return [type(x).__name__, x.__name__, x.__qualname__, driven(x, depth + 1)]
    if isinstance(x, types.AsyncGeneratorType):
        return [type(x).__name__, x.__name__, asynchronously(x, depth + 1)]
    if isinstance(x, types.FunctionType):
        return function(x, depth)
    if isinstance(x, Spy):
        return repr(x)
    if isinstance(x, type):
        return "class", x.__name__, x.__qualname__
    return type(x).__name__


def raised(e: Optional[BaseException], depth: int = 0) -> Any:
    """Return an exception with what it came from."""
    if e is None or depth > 6:
        return None
    around = (e.__cause__, e.__context__)
    said = [repr(shown(a, depth + 1))[:200] for a in e.args]
    if type(e) in (UnicodeDecodeError, RecursionError, ImportError, ModuleNotFoundError):
        said = []
    return (
        *("raise", type(e).__name__, said, e.__suppress_context__),
        [raised(other, depth + 1) for other in around],
    )


def driven(x: Any, depth: int) -> List[Any]:
    """Return what a generator or coroutine yields, is sent and returns."""
    out: List[Any] = []
    try:
        sent = None
        for i in range(MOST):
            out.append(shown(x.send(sent), depth + 1))
            sent = i if i % 3 == 1 else None  # type: ignore[assignment]
        x.close()
    except BaseException as e:
        out.append(raised(e))
        if isinstance(e, StopIteration):
            out.append(shown(e.value, depth + 1))
    return out


def asynchronously(x: Any, depth: int) -> List[Any]:
    """Return what an asynchronous generator yields."""

    async def ask() -> List[Any]:
        out = []
        try:
            async for item in x:
                out.append(shown(item, depth + 1))
                if len(out) > MOST:
                    break
        except BaseException as e:
            out.append(raised(e))
        return out

    return driven(ask(), depth + 1)


def function(x: types.FunctionType, depth: int) -> Any:
    """Return what others see of a function, and what it does without arguments."""
    code = x.__code__
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    count = sum(counts) - code.co_posonlyargcount
    count += bool(code.co_flags & 4) + bool(code.co_flags & 8)
    kinds = code.co_flags & (4 | 8 | 32 | 128 | 256 | 512)
    interface = (counts, code.co_varnames[:count], kinds, code.co_freevars, x.__doc__)
    titles = (x.__name__, x.__qualname__, shown(x.__defaults__, depth + 1))
    try:
        does = shown(x(), depth + 2) if depth < 4 else None
    except BaseException as e:
        does = raised(e)
    return ["function", interface, titles, shown(x.__kwdefaults__, depth + 1), does]
