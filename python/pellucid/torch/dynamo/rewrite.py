# SPDX-License-Identifier: Apache-2.0
"""One transformed frame: from bytecode to source, and from source back to code that may run.

The decompiler proves the source; this module adds the interface that Dynamo requires of replacement
code, and stable names: Dynamo's ``__compiled_fn_1_<uuid>`` is shown as ``__compiled_fn_0_0``, and
restored in the code that runs.
"""

from __future__ import annotations

import dis
import io
import operator
import struct
import weakref
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence

from pellucid.dump.model.events import Verdict
from pellucid.dump.model.names import known_globals, scrub, stable_globals
from pellucid.dump.model.origin import Origin

from .closures import unwrap
from .counting import COUNT, counted
from .generated import facts
from .links import lines_behind_comments
from .local_names import named
from .user_lines import annotate, resumed_codes

if TYPE_CHECKING:
    from pellucid.result import Decompilation


@dataclass(frozen=True)
class Rewriting:
    """The source of one transformed frame, and its verdict."""

    code: CodeType
    """Dynamo's code."""
    source: str | None
    verdict: Verdict
    _result: Decompilation | None = None
    _named: Mapping[str, Any] = field(default_factory=dict)

    @property
    def lines(self) -> list[tuple[int, int]]:
        """Return pairs of a source line and the bytecode's line there."""
        entries = () if self._result is None else self._result.line_map
        return [(e.line, e.original_line) for e in entries if e.original_line is not None]

    @property
    def constants(self) -> Mapping[str, Any]:
        """Return the constants that the source refers to by name because they have no literal."""
        return self._named if self._result is None else dict(self._result.globals)

    def compile(
        self, text: str, filename: str, count: Callable[[], object] | None = None
    ) -> CodeType:
        """Compile the text of the file around the source into replacement code.

        ``text`` is the source with comments around it, so that lines in ``filename`` are the lines
        that run.  Raises ValueError if the text is not the proven source, or Dynamo would refuse
        the code. ``count`` is called before everything else, if the text has room for that.
        """
        if self._result is None:
            raise ValueError("there is no source to compile")
        result = self._result
        proven = result.compile()
        first = _first_line(text, result.source)
        if first is not None:
            made = _moved(proven, filename, first)
        else:
            made = result.compile_text(unwrap(text), filename)
        if first is None and not same_instructions(proven, made):
            raise ValueError("the file does not compile to the code that was proven")
        variant = None if count is None else counted(unwrap(text))
        if variant is not None:
            made = result.compile_text(variant, filename, {COUNT: count})
        made = with_functions_of(made, self.code)
        require_interface(made, self.code)
        key = id(made)
        _STAND_INS[key] = (weakref.ref(made, lambda _: _STAND_INS.pop(key, None)), result)
        return made


_STAND_INS: dict[int, tuple[weakref.ref[CodeType], Decompilation]] = {}


def decompilation_behind(code: CodeType) -> Decompilation | None:
    """Return the decompilation of code that runs in place of Dynamo's; None for other code."""
    made, result = _STAND_INS.get(id(code), (None, None))
    return result if made is not None and made() is code else None


def rewrite(code: CodeType, origin: Origin, graphs: Sequence[str] = ()) -> Rewriting:
    """Decompile a transformed frame like :func:`decompiled`, without raising."""
    try:
        result = decompiled(code, origin, graphs)
        verdict = Verdict(result.verdict.status, scrub(_reason(result)))
        return Rewriting(code, result.source, verdict, result)
    except Exception as error:
        reason = str(error).strip() or "no message"
        return Rewriting(code, None, Verdict("failed", scrub(f"{type(error).__name__}: {reason}")))


def decompiled(
    code: Any, origin: Origin, graphs: Sequence[str] = (), name: str | None = None
) -> Decompilation:
    """Decompile code that Dynamo or a bytecode hook generated to readable source.

    For Dynamo's own code, the source relies on facts about it (:mod:`.generated`).  Comments link
    it to the user's lines and to those of the printed ``graphs`` that it calls; the source with
    comments is what is proven.  Raises what ``decompile_ex`` raises.
    """
    # Imported here to keep the engine out of processes that never compile anything.
    from pellucid.code_objects import code_of
    from pellucid.live import search_live

    made = code_of(code)
    known = known_globals(made.co_names, origin.scope)
    used = _used_names(made) if known else made.co_names
    names = stable_globals(used, _all_names(made), origin.tag, known)
    resumed = resumed_codes(made, origin.scope)
    sure = facts(origin.original, made) if origin.made(made) else None

    def revised(found: Decompilation) -> Decompilation:
        plain = found.source
        if found._facts is not None:
            plain = named(plain, found._facts["temporaries"], origin.parameters)
        text = annotate(plain, origin.original, graphs, resumed)
        places = lines_behind_comments(plain, text)
        return replace(
            found,
            source=text,
            line_map=tuple(entry._replace(line=places[entry.line]) for entry in found.line_map),
            _first_lines=tuple(places.get(line, line) for line in found._first_lines),
        )

    if sure is not None:
        result = search_live(code, name, sure, names, revised)
        if result.verdict.at_least("equivalent"):
            return result
    # If that is not proven, every step as in the bytecode.
    return search_live(code, name, None, names, revised)


def _first_line(text: str, source: str) -> int | None:
    """Return the number of lines before a source in a file if they are only comments; else None.

    >>> _first_line("# a\\n\\nx = 1\\n", "x = 1\\n"), _first_line("y\\nx = 1", "x = 1")
    (2, None)
    """
    blank = len(source) - len(source.lstrip("\n"))
    before, found, after = text.partition(source.strip("\n"))
    lines = before.split("\n")
    alone = found and not after.strip("\n") and not lines[-1]
    if not alone or any(line and not line.startswith("#") for line in lines):
        return None
    return len(lines) - 1 - blank


def _moved(code: CodeType, filename: str, lines: int) -> CodeType:
    """Return the same code with a different file, shifted down by some lines."""
    consts = (_moved(c, filename, lines) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(
        co_filename=filename,
        co_firstlineno=code.co_firstlineno + lines,
        co_consts=tuple(consts),
    )


def _reason(result: Any) -> str:
    """Return why a source is not proven: missing parts first, then where the proof stops."""
    if result.verdict.status in ("identical", "equivalent"):
        return ""
    for entry in result.diagnostics:
        return f"{entry.message} at byte 0x{entry.offset:x}"
    return str(result.verdict.reason)


def same_instructions(a: CodeType, b: CodeType) -> bool:
    """Return true if two code objects differ at most in file, lines and first line.

    >>> one = compile("x = 1", "a", "exec")
    >>> same_instructions(one, compile("\\n\\nx = 1", "b", "exec"))
    True
    >>> same_instructions(one, compile("x = True", "a", "exec"))
    False
    """
    plain = [
        "co_code",
        "co_names",
        "co_varnames",
        "co_freevars",
        "co_cellvars",
        "co_flags",
        "co_name",
        "co_argcount",
        "co_posonlyargcount",
        "co_kwonlyargcount",
        "co_stacksize",
        "co_exceptiontable",
    ]
    if any(getattr(a, name, None) != getattr(b, name, None) for name in plain):
        return False
    return len(a.co_consts) == len(b.co_consts) and all(map(_same, a.co_consts, b.co_consts))


def _same(a: object, b: object) -> bool:
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, CodeType) and isinstance(b, CodeType):
        return same_instructions(a, b)
    nans: dict[bytes, Any] = {}
    return _holding(_with_one_nan(a, nans)) == _holding(_with_one_nan(b, nans))


def _holding(constant: object) -> CodeType:
    """Return code with this one constant.

    Two of these are equal if the compiler would merge their constants: code comparison handles all
    kinds of constants, distinguishes 1 from True and 0.0 from -0.0 at any depth, and compares other
    objects by identity.
    """
    return _EMPTY.replace(co_consts=(constant,))


_EMPTY = compile("", "", "exec")


def _with_one_nan(value: Any, nans: dict[bytes, Any]) -> Any:
    """Return a constant with NaNs of equal bits merged into one object, as they compare unequal."""
    if type(value) is float and value != value:
        return nans.setdefault(struct.pack("d", value), value)
    if type(value) is complex and value != value:
        return nans.setdefault(struct.pack("dd", value.real, value.imag), value)
    if type(value) is slice:
        parts = (value.start, value.stop, value.step)
        same = _with_one_nan(parts, nans)
        return value if same is parts else slice(*same)
    if type(value) in (tuple, frozenset):
        items = list(value)
        same = [_with_one_nan(item, nans) for item in items]
        made = type(value)(same)
        return value if all(map(operator.is_, items, same)) or len(made) < len(items) else made
    return value


def with_functions_of(made: CodeType, original: CodeType) -> CodeType:
    """Replace nested code objects in ``made`` by the ones that ``original`` creates functions from.

    They are the program's, with its files and lines, and old torch identifies a resume function by
    its code object; those in ``made`` are equivalent but distinct.  A code object without a unique
    match stays unchanged.

    >>> def outer():
    ...     return lambda: 1
    >>> compiled = compile("def outer():\\n return lambda: 1", "other.py", "exec").co_consts[0]
    >>> (inner,) = [const for const in outer.__code__.co_consts if isinstance(const, CodeType)]
    >>> any(const is inner for const in with_functions_of(compiled, outer.__code__).co_consts)
    True
    """
    theirs, ours = _by_interface(original), _by_interface(made)

    def known(const: object) -> object:
        if not isinstance(const, CodeType):
            return const
        interface = _interface(const)
        candidates = theirs.get(interface, [])
        if len(candidates) > 1 or len(ours[interface]) > 1:
            candidates = [code for code in candidates if same_instructions(code, const)]
        return candidates[0] if len(candidates) == 1 else const

    return made.replace(co_consts=tuple(map(known, made.co_consts)))


def _by_interface(code: CodeType) -> dict[tuple[object, ...], list[CodeType]]:
    found: dict[tuple[object, ...], list[CodeType]] = {}
    for const in code.co_consts:
        if isinstance(const, CodeType):
            found.setdefault(_interface(const), []).append(const)
    return found


def _interface(code: CodeType) -> tuple[object, ...]:
    """Return what two code objects must share for the same instructions to use either."""
    names = ("co_name", "co_freevars", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount")
    return (*(getattr(code, name) for name in names), code.co_flags & 0x2C)


def require_interface(made: CodeType, original: CodeType) -> None:
    """Raise ValueError if Dynamo would refuse ``made`` in place of ``original``.

    torch checks argument names, ``co_freevars`` and ``co_cellvars`` and raises into the program;
    its C code copies locals by position into a frame that must be large enough.
    """
    arguments = original.co_argcount + original.co_kwonlyargcount
    arguments += bool(original.co_flags & 0x4) + bool(original.co_flags & 0x8)
    checks: dict[str, tuple[object, object]] = {
        "co_freevars": (made.co_freevars, original.co_freevars),
        "co_cellvars": (made.co_cellvars, original.co_cellvars),
        "co_argcount": (made.co_argcount, original.co_argcount),
        "co_kwonlyargcount": (made.co_kwonlyargcount, original.co_kwonlyargcount),
        "arguments": (made.co_varnames[:arguments], original.co_varnames[:arguments]),
    }
    for name, (ours, theirs) in checks.items():
        if ours != theirs:
            raise ValueError(f"{name} is {ours} instead of {theirs}")
    if made.co_nlocals < len(original.co_varnames[:arguments]):
        raise ValueError("the frame has too few locals")


def disassembly(code: CodeType) -> str:
    """Disassemble code for reading, without addresses and with shortened constants.

    ``dis`` prints constants by ``repr``; Dynamo's constants include dictionaries of whole modules.
    """
    stream = io.StringIO()
    dis.dis(_brief(code), file=stream)
    return scrub("\n".join(line.rstrip() for line in stream.getvalue().splitlines()))


class _Shown:
    """Replaces a constant in a disassembly."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _brief(code: CodeType) -> CodeType:
    def brief(value: object) -> object:
        if isinstance(value, CodeType):
            return _brief(value)
        if value is None or isinstance(value, (bool, int, float, complex)):
            return value
        if isinstance(value, str):
            return value if len(value) < 60 else value[:60] + "…"
        if type(value) in (tuple, frozenset) and len(value) < 12:  # type: ignore[arg-type]
            return type(value)(map(brief, value))  # type: ignore[call-arg, call-overload]
        return _Shown(f"<{type(value).__module__}.{type(value).__qualname__} object>")

    return code.replace(co_consts=tuple(map(brief, code.co_consts)))


def _used_names(code: CodeType) -> list[str]:
    """Return the globals and attributes that code uses; Dynamo keeps the original's names too."""
    used = {i.argval for i in dis.get_instructions(code) if i.opcode in dis.hasname}
    return [name for name in code.co_names if name in used]


def _all_names(code: CodeType) -> tuple[str, ...]:
    """Return all names except globals and attributes, including those of nested functions."""
    names = (*code.co_varnames, *code.co_cellvars, *code.co_freevars)
    for const in code.co_consts:
        if isinstance(const, CodeType):
            names += (*const.co_names, *_all_names(const))
    return names
