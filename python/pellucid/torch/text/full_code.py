# SPDX-License-Identifier: Apache-2.0
"""``full_code_for_<function>_<frame>.py``: what torch runs instead of a function.

The file replicates torch's frame evaluation: the versions in the order in which torch tries them,
each with its guards.  The first version whose guards hold is called; if none matches, torch
compiles another one or runs the original.  Imported in the captured process, the file decides like
torch and calls the same code.  In any other process, guards on identities compare descriptions, and
the functions are those in the file.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import re
import textwrap
from types import CodeType
from typing import Callable, Iterable, Mapping, Sequence

from pellucid.brief import counted
from pellucid.dump.model.dynamo_names import renamed
from pellucid.dump.model.events import CacheEntry, CompileKey, Frame, Place, Recompile
from pellucid.dump.model.names import as_comment, definable, identifier, label
from pellucid.dump.model.origin import Origin

from ..dynamo.closures import wrap
from ..dynamo.rewrite import rewrite
from ..guards import checks as guard_checks
from .dump import SAVED, frame_status, is_python, recompile_lines, valid
from .full_code_names import global_names, names_bound, names_of, names_of_guards

_AHEAD = ("ahead of time", "loaded", "saved")
_DEF = re.compile(r"^((?:async )?def )(\w+)(?=\()", re.MULTILINE)


def full_code_name(frame: str, function: str) -> str:
    """Return the file name of one function.

    >>> full_code_name("0", "toy")
    'full_code_for_toy_0.py'
    """
    return f"full_code_for_{identifier(function)}_{frame}.py"


def full_code_text(
    place: Place,
    code: CodeType | None,
    entries: Sequence[CacheEntry],
    frames: Mapping[CompileKey, Frame],
    recompiles: Sequence[Recompile] = (),
    bind: Callable[[Iterable[str]], list[str]] = lambda _: [],
) -> str:
    """Return the text of one function's file from its cache entries, in torch's order.

    ``code`` is None if the program has dropped the function since; ``bind`` generates the lines
    that bind the global names used in the file.
    """
    wrapper = next((frame.wrapper for frame in frames.values() if frame.wrapper), "")
    name = definable(renamed(place.function, wrapper) if wrapper else place.function)
    versions = [entry for entry in entries if entry.key in frames]
    known = {entry.key for entry in versions}
    count = counted(len(frames), "compiled version")
    head = [f"{label(place.function)} · {place} · {count}"]
    for entry in versions:
        frame, since = frames[entry.key], "; torch was reset since" if entry.forgotten else ""
        head.append(f"  [{entry.key}] {frame.file}: {frame_status(frame)}{since}")
    for key in frames:
        if key not in known:
            is_export = frames[key].way == "export"
            why = "an export, which checks no guards" if is_export else "torch no longer has it"
            head.append(f"  [{key}] {frames[key].file}: {why}")
    if recompiles:
        head += ["Recompiled because:", *("  " + line for line in recompile_lines(recompiles))]
    ways = {frame.way for frame in frames.values()}
    if code is None and ways and ways <= {*SAVED}:
        head.append("The original function is not shown: this Python has no code for it.")
    elif code is None:
        head.append(
            "The program has released the function, so torch has released its cache entries."
        )
    held = [entry for entry in versions if not entry.forgotten]
    if code is not None and not entries and {f.way for f in frames.values()} != {"export"}:
        head.append("torch has no cache entry for it now, so there are no guards to show.")
    free = () if code is None else code.co_freevars
    otherwise = "torch compiles a new one or, beyond its limit, runs the original"
    if held and all(frames[entry.key].way in _AHEAD for entry in held):
        otherwise = "torch raises an error, because nothing is compiled at the call"
    guards = [_guards(entry) for entry in versions]
    functions = [_version(frames[entry.key], name, free) for entry in versions]
    if code is not None:
        functions += [_original(code, name), _dispatch(code, name, held, otherwise)]
    imports = _imports(versions, functions, bind)
    parts = [as_comment("\n".join(head)), imports]
    parts += [part for pair in zip(guards, functions) for part in pair]
    parts += functions[len(guards) :]
    text = "\n\n\n".join(part.strip("\n") for part in parts) + "\n"
    # If each part is valid Python, so is the whole.  The guards of a large model are most of the
    # file; lines of the same form are either all valid or all invalid.
    return text if is_python(imports) and all(map(_are_python, versions)) else valid(text)


def _are_python(entry: CacheEntry) -> bool:
    forms = "".join(f"    {line}\n" for line in _forms(entry))
    return is_python(f"def guards(L, G):\n{forms}    yield True\n")


def _forms(entry: CacheEntry) -> Iterable[str]:
    if entry.forms:
        return entry.forms
    return (line for part in entry.body for line in part.split("\n"))


def _guards(entry: CacheEntry) -> str:
    slug = entry.key.slug
    only_here = sum(guard.expression is None for guard in entry.guards)
    where = "only in the process of the capture"
    where = where if entry.kept is not None else "held to be true, as no file can decide them"
    note = f"; {only_here} {where}" if only_here else ""
    count = f"{counted(len(entry.guards), 'guard')} of [{entry.key}]"
    lines = [
        f'kept_{slug} = objects(globals(), "{slug}")  # objects compared by identity',
        "",
        "",
        "@Guards",
        f"def guards_{slug}(L, G):",
        f'    """Decide the {count} in torch\'s order{note}."""',
    ]
    body = "\n".join(entry.body or ("yield True",)).replace("\n", "\n    ")
    return "\n".join([*lines, f"    {body}"])


def _imports(
    entries: Sequence[CacheEntry],
    functions: Sequence[str],
    bind: Callable[[Iterable[str]], list[str]],
) -> str:
    """Return imports of exactly the names that the guards and functions of a file call."""
    used, keys = names_of_guards(form for entry in entries for form in _forms(entry))
    used -= names_bound(line for entry in entries for line in entry.body)
    used -= {"L", "G", *dir(builtins)}
    used = {name for name in used if not name.startswith("kept_")}
    ours = {"Guards", "objects", *used & set(dir(guard_checks))} if entries else set()
    theirs = sorted(used - ours - {"torch"})
    defined = {name for function in functions for name in names_of(function).bound}
    for entry in entries:
        defined |= {f"kept_{entry.key.slug}", f"guards_{entry.key.slug}"}
    wanted = {*global_names(functions), *keys, *used & {"torch"}}
    others = sorted(wanted - {*ours, *theirs, *defined})
    lines = bind(others)
    torch = ["import torch"] if "torch" in used else []
    imports = sorted({*torch, *(line for line in lines if line.startswith("import "))})
    rest = [line for line in lines if not line.startswith("import ")]
    if theirs:
        ours.add("torch_name")
    head = ["from __future__ import annotations", "", *imports]
    if ours:
        head += ["from pellucid.dumped import ("]
        head += [*(f"    {name}," for name in sorted(ours)), ")"]
    beside = [name for name in ("graph", "resumed") if any(f" = {name}(" in line for line in rest)]
    head += [f"from pellucid.dumped import {', '.join(beside)}"] if beside else []
    if theirs:
        head += ["", "# torch's functions and values that the guards use."]
        head += [f'{name} = torch_name("{name}")' for name in theirs]
    return "\n".join([*head, "", *rest] if rest else head)


def _version(frame: Frame, name: str, free: Sequence[str]) -> str:
    target = f"__transformed_code_{frame.key.slug}_for_{name}"
    note = f"# {frame.file}: {frame_status(frame)}\n"
    if frame.source is not None:
        text = _renamed(frame.source, target, free, frame.verdict.proven)
        if text is not None:
            return note + text
    return note + _stub(target, f"no source: {' '.join(frame.verdict.reason.split())}")


def _original(code: CodeType, name: str) -> str:
    target = f"__original_{name}"
    text = user_source(code)
    note = f"# {code.co_filename}:{code.co_firstlineno}\n"
    if text is None:
        rewriting = rewrite(code, Origin(code, "x"))
        if rewriting.source is None:
            return note + _stub(target, f"no source: {rewriting.verdict.reason}")
        text, note = rewriting.source, note + "# Decompiled from the bytecode.\n"
    text = _renamed(text, target, code.co_freevars)
    return note + (_stub(target, "no source") if text is None else text)


def _renamed(source: str, target: str, free: Sequence[str], compiles: bool = False) -> str | None:
    """Return the function under another name; None if the result is not Python."""
    text, found = _DEF.subn(rf"\g<1>{target}", source.strip("\n"), count=1)
    if found and compiles and "nonlocal " not in text:
        return text
    if found and free and not is_python(text):
        text = f"{wrap(text, free, '_closure', target)}\n\n\n{target} = _closure()"
    return text if found and is_python(text) else None


def _stub(target: str, why: str) -> str:
    reason = " ".join(why.split())
    return f"def {target}(*args, **kwargs):\n    raise NotImplementedError({reason!r})"


def user_source(code: CodeType) -> str | None:
    """Return the user's own text of a function, without decorators; None if unavailable.

    A function with defaults other than constants is left out, since the file must not evaluate
    them.
    """
    lines = linecache.getlines(code.co_filename)
    if not 0 < code.co_firstlineno <= len(lines):
        return None
    try:
        text = textwrap.dedent("".join(inspect.getblock(lines[code.co_firstlineno - 1 :])))
        node = ast.parse(text).body[0]
    except (SyntaxError, ValueError, IndexError, RecursionError):
        return None
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.name != code.co_name:
        return None
    defaults = [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
    if not all(isinstance(default, ast.Constant) for default in defaults):
        return None
    return "\n".join(text.splitlines()[node.lineno - 1 :])


def _dispatch(code: CodeType, name: str, versions: Sequence[CacheEntry], otherwise: str) -> str:
    arguments = _arguments(code)
    signature, call = _signature(code, arguments), _call(code, arguments)
    scope = ", ".join(f"{real!r}: {shown}" for real, shown in arguments.items())
    lines = [f"def {name}({signature}):"]
    if code.co_freevars:
        free = ", ".join(code.co_freevars)
        lines += [f"    # Closure variables ({free}) are in L as well when torch checks."]
    lines += [f"    L = {{{scope}}}"]
    for entry in versions:
        slug = entry.key.slug
        target = f"__transformed_code_{slug}_for_{name}"
        lines += [
            f"    if guards_{slug}(L, kept_{slug}.globals(globals())):",
            f"        return kept_{slug}.transformed({target})({call})",
        ]
    lines += [f"    # No version fits: {otherwise}."]
    original = f"__original_{name}"
    if versions:
        original = f"kept_{versions[0].key.slug}.original({original})"
    return "\n".join([*lines, f"    return {original}({call})"])


def _arguments(code: CodeType) -> dict[str, str]:
    """Map the arguments to valid names."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return {
        real: real if real.isidentifier() else f"arg_{identifier(real)}"
        for real in code.co_varnames[:count]
    }


def _split(code: CodeType, arguments: Mapping[str, str]) -> list[list[str]]:
    names = list(arguments.values())
    positional, keyword = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    rest = names[keyword:]
    star = [rest.pop(0)] if code.co_flags & inspect.CO_VARARGS else []
    return [names[:positional], names[positional:keyword], star, rest]


def _signature(code: CodeType, arguments: Mapping[str, str]) -> str:
    positional, keyword, star, kwargs = _split(code, arguments)
    parts = list(positional)
    if code.co_posonlyargcount:
        parts.insert(code.co_posonlyargcount, "/")
    if star:
        parts.append(f"*{star[0]}")
    elif keyword:
        parts.append("*")
    return ", ".join([*parts, *keyword, *(f"**{name}" for name in kwargs)])


def _call(code: CodeType, arguments: Mapping[str, str]) -> str:
    positional, keyword, star, kwargs = _split(code, arguments)
    parts = [*positional, *(f"*{name}" for name in star), *(f"{n}={n}" for n in keyword)]
    return ", ".join([*parts, *(f"**{name}" for name in kwargs)])
