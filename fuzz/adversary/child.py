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
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from changes import Changer
from programs import ENDLESS, WRITTEN, Program, named, programs
from showing import MOST, raised, shown
from spies import LOG, Spy, Stop, reset

_ADDRESS = re.compile("0x[0-9a-f]+")
_SECONDS = 0.5  # of the processor
_MEMORY = 1 << 30
_TOGETHER = 64  # programs that one child runs

KNOWN = "known"  # programs that are not written at random
Made = Tuple[int, bytes, str, str]  # number, marshalled module, program, what was changed


def made(seed: int, wanted: str, all_of_them: Dict[str, Program], number: int) -> Optional[Made]:
    """Return one module, changed mostly, or None if nothing came of the changes.

    `wanted`: the one program to change, or which programs are written at random; "": all kinds.
    """
    rng = random.Random(f"{seed}:{number}")
    names = sorted(all_of_them)
    small = [name for name in names if not all_of_them[name].found]
    name = rng.choice(small if small and rng.random() < 0.75 else names)
    is_as_written = wanted == ENDLESS or (not wanted and number % 8 < 5)
    if wanted == ENDLESS:
        name = f"{ENDLESS}{seed}:{number}"
    elif not wanted and number % 8 < 6:
        name = f"{WRITTEN}{seed}:{number}"
    elif wanted not in ("", KNOWN, name):
        return None
    text = named(name, all_of_them).text
    code = compile(text, "adversary.py", "exec", dont_inherit=True)
    if is_as_written:
        return number, marshal.dumps(code), name, "nothing"
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


def left(x: Any, point: int, act: str) -> List[Any]:
    """Return what a generator or coroutine does until something is done to it at some point."""
    out: List[Any] = []
    try:
        for i in range(MOST):
            if i == point and act == "drop":
                break
            if i == point and act == "close":
                x.close()
                out.append("closed")
            else:
                throws = i == point and act == "throw"
                out.append(shown(x.throw(Stop("thrown")) if throws else x.send(None), 5))
    except BaseException as e:
        out.append(raised(e))
        if isinstance(e, StopIteration):
            out.append(shown(e.value, 5))
    return out


async def left_asynchronously(x: Any, point: int, act: str) -> List[Any]:
    """Return the same of an asynchronous generator."""
    out: List[Any] = []
    try:
        for i in range(MOST):
            if i == point and act == "drop":
                break
            if i == point and act == "close":
                await x.aclose()
                out.append("closed")
            else:
                throws = i == point and act == "throw"
                out.append(shown(await (x.athrow(Stop("thrown")) if throws else x.asend(None)), 5))
    except BaseException as e:
        out.append(raised(e))
    return out


def once(f: Any, point: int, act: str) -> Any:
    """Return what one call on spies does."""
    x = None
    try:
        x = f(Spy(1), Spy(2), Spy(3))
        if isinstance(x, (types.GeneratorType, types.CoroutineType)):
            return left(x, point, act)
        if isinstance(x, types.AsyncGeneratorType):
            return left(left_asynchronously(x, point, act), -1, "")
        return shown(x)
    except BaseException as e:
        return raised(e)
    finally:
        x = None


def interrupted(f: Any) -> Any:
    """Return what an endless call does that a signal handler raises in, thrice at most."""
    times = []

    def handler(*_: Any) -> None:
        times.append(0)
        raise Stop() if len(times) < 3 else SystemExit()

    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.004, 0.004)
    try:
        return shown(f()), len(times)
    except BaseException as e:
        return raised(e), len(times)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def spied(code: CodeType, program: Program) -> str:
    """Return what the `f` of a module does with spies, and all that they log."""
    out: List[Any] = []
    for stop, point, act in program.plan:
        space = (
            program.found.copy()
            if type(program.found) is dict
            else type(program.found)(program.found)
        )
        space.update({"__name__": "adversary", "__builtins__": __builtins__})
        try:
            exec(code, space)
        except BaseException as e:
            return repr(raised(e))
        reset(stop)
        out.append(interrupted(space["f"]) if act == "signal" else once(space["f"], point, act))
        out.append(repr(LOG))
    return _ADDRESS.sub("0x", repr(out))


def is_one(x: Any, y: Any) -> bool:
    """Return whether two results of calls are one object, of those that code may share."""
    return x is y if isinstance(x, (str, bytes, int, float, complex, tuple, frozenset)) else False


def behaviour(code: CodeType, program: Program) -> str:
    """Return all that a module does, and its `f` with each of the program's arguments."""
    if program.plan:
        return spied(code, program)
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
            again = copies([args])[0]
            try:
                x = f(*args)
                out.append(shown(x))
                out.append(is_one(x, f(*again)))
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
    status, data = in_child(lambda: [task().encode("utf-8", "backslashreplace")], _SECONDS)
    return data.decode() if status == 0 else f"died {status}"


def in_child(task: Callable[[], Iterable[bytes]], seconds: float) -> Tuple[int, bytes]:
    """Run a task in a child; return its exit code and its answer, as far as it came."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            # Of its own time: others may use the processor.
            signal.setitimer(signal.ITIMER_PROF, seconds)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            null = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            for data in task():
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
    have changed what all of them see. So is the one that ends the child, and another child goes on
    after it.
    """
    out: List[Tuple[str, List[str]]] = []
    while len(out) < len(asked):
        together = asked[len(out) : len(out) + _TOGETHER]
        _, data = in_child(functools.partial(same_as_texts, together), _SECONDS)
        answers = io.BytesIO(data)
        for one in together:
            try:
                original, same = pickle.load(answers)
            except (EOFError, pickle.UnpicklingError):
                out.append(compared(*one))
                break
            out.append((original, [""] * len(same)) if all(same) else compared(*one))
    return out


def same_as_texts(asked: Sequence[Tuple[bytes, Program, List[str]]]) -> Iterator[bytes]:
    """Yield what each module does, and which of its texts do the same."""
    for data, program, texts in asked:
        signal.setitimer(signal.ITIMER_PROF, _SECONDS)
        original = behaviour(marshal.loads(data), program)
        yield pickle.dumps((original, [of_text(text, program) == original for text in texts]))


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
    status, data = in_child(lambda: [pickle.dumps([task(item) for item in items])], 60)
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
            asked = [(data, named(name, all_of_them), texts) for data, name, texts in rest[0]]
            result = all_compared(asked)
        else:
            result = each(lambda one: live(one[0], named(one[1], all_of_them)), rest[0])
        data = pickle.dumps(result, protocol=4)
        answer.write(struct.pack("<I", len(data)) + data)
        answer.flush()


if __name__ == "__main__":
    serve(sys.argv[1] if len(sys.argv) > 1 else "")
