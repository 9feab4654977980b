# SPDX-License-Identifier: Apache-2.0
"""The half of the adversary that runs in the interpreter whose code is changed.

It answers requests on standard input: `make` changes programs, `run` holds texts to what they were
made of, `live` does all of it with a pellucid of its own. Each is a pickled tuple after its length,
and so is each answer.
"""

import contextlib
import functools
import io
import marshal
import os
import pickle
import random
import re
import resource
import signal
import struct
import sys
import types
import warnings
from types import CodeType
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from changes import Changer
from programs import Program, programs

_ADDRESS = re.compile("0x[0-9a-f]+")
_SECONDS = 2
_MEMORY = 1 << 30
_MOST = 20  # items that are asked of a generator
_TOGETHER = 16  # programs that one child runs

Made = Tuple[int, bytes, str, str]  # number, marshalled module, program, what was changed


def made(seed: int, wanted: str, all_of_them: Dict[str, Program], number: int) -> Optional[Made]:
    """Return one changed module, or None if nothing came of the changes."""
    rng = random.Random(f"{seed}:{number}")
    names = sorted(all_of_them)
    small = [name for name in names if not all_of_them[name].found]
    name = rng.choice(small if small and rng.random() < 0.75 else names)
    if wanted and name != wanted:
        return None
    code = compile(all_of_them[name].text, "adversary.py", "exec", dont_inherit=True)
    changer = Changer(rng)
    try:
        changed = changer.change(code)
        data = marshal.dumps(changed)
        if data == marshal.dumps(code):
            return None
        marshal.loads(data)
    except (ValueError, TypeError, SystemError, OverflowError, EOFError, IndexError, MemoryError):
        return None
    return number, data, name, "+".join(changer.done)


# -- what a program does ---------------------------------------------------------------------------


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
        for i in range(_MOST):
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
                if len(out) > _MOST:
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


def behaviour(code: CodeType, program: Program) -> str:
    """Return all that a module does, and its `f` with each of the program's arguments."""
    out: List[Any] = []
    printed = io.StringIO()
    space = {**program.found, "__name__": "adversary", "__builtins__": __builtins__}
    before = set(space)
    with contextlib.redirect_stdout(printed):
        try:
            exec(code, space)
        except BaseException as e:
            out.append(raised(e))
        out.append(seen(space, before))
        f = space.get("f")
        for args in copies(program.calls):
            if not callable(f):
                break
            try:
                out.append(shown(f(*args)))
            except BaseException as e:
                out.append(raised(e))
            out.append(shown(args))
            out.append(seen(space, before))
            out.append(raised(sys.exc_info()[1]))
    out.append(printed.getvalue()[:1000])
    return _ADDRESS.sub("0x", repr(out))


def copies(calls: List[Tuple[Any, ...]]) -> List[Tuple[Any, ...]]:
    """Return arguments that a call may change."""
    try:
        copied: List[Tuple[Any, ...]] = pickle.loads(pickle.dumps(calls))
    except Exception:  # functions and iterators are as they are
        return calls
    return copied


def seen(space: Dict[str, Any], before: "set[str]") -> Any:
    """Return what a module has come to hold."""
    new = {k: v for k, v in space.items() if k not in before and k != "f"}
    return [(k, shown(v, 2)) for k, v in new.items()]


def apart(task: Callable[[], str]) -> str:
    """Return what a task answers in a child, or "died": it may crash, or never end."""
    status, data = in_child(lambda: task().encode("utf-8", "backslashreplace"), _SECONDS)
    return data.decode() if status == 0 else f"died {status}"


def in_child(task: Callable[[], bytes], seconds: int) -> Tuple[int, bytes]:
    """Run a task in a child; return its exit status and its answer."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            null = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            data = task()
            while data:
                data = data[os.write(writer, data) :]
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writer)
    parts = []
    while True:
        part = os.read(reader, 1 << 16)
        if not part:
            break
        parts.append(part)
    os.close(reader)
    status = os.waitpid(pid, 0)[1]
    return status, b"".join(parts)


def of_text(text: str, program: Program) -> str:
    """Return what a text does."""
    try:
        code = compile(text, "adversary.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as e:
        return f"does not compile: {e}"
    return behaviour(code, program)


def compared(data: bytes, program: Program, texts: List[str]) -> Tuple[str, List[str]]:
    """Return what a module does, and what of it each text does not: "" where it does all."""
    original = apart(lambda: behaviour(marshal.loads(data), program))
    if original.startswith("died"):
        return original, []
    answers = []
    for text in texts:
        does = apart(lambda text=text: of_text(text, program))  # type: ignore[misc]
        answers.append("" if does == original else does)
    if any(answers) and not is_steady(data, program, original):
        return "differs from run to run", []
    return original, answers


def is_steady(data: bytes, program: Program, original: str) -> bool:
    """Return whether a module does the same wherever its objects lie: a set has their order."""

    def shifted(count: int) -> str:
        kept = [lambda: 0 for _ in range(count)]
        does = behaviour(marshal.loads(data), program)
        kept.clear()
        return does

    return all(apart(lambda n=n: shifted(n)) == original for n in range(8))  # type: ignore[misc]


def all_compared(
    asked: Sequence[Tuple[bytes, Program, List[str]]],
) -> List[Tuple[str, List[str]]]:
    """Return what `compared` says of each, many of which are run in one child.

    What behaves as its texts do there is done. Any other is run apart: one of those before it may
    have changed what all of them see, or ended the child.
    """

    def task() -> bytes:
        out = []
        for data, program, texts in asked:
            original = behaviour(marshal.loads(data), program)
            out.append((original, [of_text(text, program) == original for text in texts]))
        return pickle.dumps(out)

    status, data = in_child(task, _SECONDS)
    if status != 0 and len(asked) > 1:
        half = len(asked) // 2
        return all_compared(asked[:half]) + all_compared(asked[half:])
    together = pickle.loads(data) if status == 0 else [("", [False])] * len(asked)
    return [
        (original, [""] * len(same)) if all(same) else compared(*one)
        for one, (original, same) in zip(asked, together)
    ]


# -- live code objects -------------------------------------------------------------------------


def live(data: bytes, program: Program) -> Tuple[str, str, str, str]:
    """Return the verdict on a function, what it does, what its stand-in does instead, its text."""
    import pellucid

    code = next((c for c in marshal.loads(data).co_consts if isinstance(c, CodeType)), None)
    if code is None or code.co_freevars:
        return "none", "", "", ""
    try:
        found = pellucid.decompile_ex(code)
        if found.verdict.status == "unproven":
            return "unproven", "", "", ""
    except pellucid.DecompileError as e:
        return f"error {e}"[:60], "", "", ""
    original = apart(lambda: behaviour_of_function(code, {}, program))
    if original.startswith("died"):
        return "died", "", "", ""
    does = apart(lambda: behaviour_of_function(found.compile(), found.globals, program))
    different = "" if does == original else does
    if different and apart(lambda: behaviour_of_function(code, {}, program)) != original:
        return "died", "", "", ""
    return "proven", original, different, found.source


def behaviour_of_function(code: CodeType, names: Dict[str, Any], program: Program) -> str:
    """Return what a function does that has this code, and what others see of it."""
    space = {**program.found, "__name__": "adversary", "__builtins__": __builtins__}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(program.text, "adversary.py", "exec", dont_inherit=True), space)
    before = set(space) | set(names)
    space.update(names)
    f = space.get("f")
    defaults = f.__defaults__ if isinstance(f, types.FunctionType) else None
    function = types.FunctionType(code, space, "f", defaults)
    function.__kwdefaults__ = f.__kwdefaults__ if isinstance(f, types.FunctionType) else None
    out: List[Any] = []
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for args in copies(program.calls):
            try:
                out.append(shown(function(*args)))
            except BaseException as e:
                out.append(raised(e))
            out.append(shown(args))
            out.append(seen(space, before))
            out.append(raised(sys.exc_info()[1]))
    return _ADDRESS.sub("0x", repr(out) + printed.getvalue()[:1000])


def each(task: Callable[[Any], Any], items: Sequence[Any]) -> List[Any]:
    """Return the answer to each item, None where the interpreter crashes.

    All run in one child, unless that crashes.
    """
    status, data = in_child(lambda: pickle.dumps([task(item) for item in items]), 60)
    if status == 0:
        return list(pickle.loads(data))
    if len(items) == 1:
        return [None]
    half = len(items) // 2
    return each(task, items[:half]) + each(task, items[half:])


def serve(more: str) -> None:
    """Answer until nobody asks any more."""
    warnings.simplefilter("ignore")
    ask, answer = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    all_of_them = programs(more)
    while True:
        head = ask.read(4)
        if len(head) < 4:
            return
        kind, *rest = pickle.loads(ask.read(*struct.unpack("<I", head)))
        result: Any
        if kind == "make":
            seed, first, count, wanted = rest
            numbers = range(first, first + count)
            result = each(functools.partial(made, seed, wanted, all_of_them), numbers)
        elif kind == "run":
            asked = [(data, all_of_them[name], texts) for data, name, texts in rest[0]]
            result = []
            for i in range(0, len(asked), _TOGETHER):
                result += all_compared(asked[i : i + _TOGETHER])
        else:
            result = each(lambda one: live(one[0], all_of_them[one[1]]), rest[0])
        data = pickle.dumps(result, protocol=4)
        answer.write(struct.pack("<I", len(data)) + data)
        answer.flush()


if __name__ == "__main__":
    serve(sys.argv[1] if len(sys.argv) > 1 else "")
