# SPDX-License-Identifier: Apache-2.0
"""The decompiler's Python API: from live objects and `.pyc` files to source and verdict."""

import dataclasses
import functools
import importlib.util
import marshal
import pickle
import sys
import types
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from pellucid import _core
from pellucid.brief import counted
from pellucid.code_objects import code_of
from pellucid.errors import CannotStandIn, DecompileError
from pellucid.forms import BEST, proven_form, verdict_of
from pellucid.interpreters import compile_to_marshal, compiling, find_interpreter
from pellucid.recompile import stand_in
from pellucid.signature import with_defaults
from pellucid.verdicts import CodeVerdict, Diagnostic, LineMapEntry, Status, Tier, Verdict


@dataclasses.dataclass(frozen=True, repr=False)
class Decompilation:
    """The source of one object, with its globals, line map and verdict."""

    source: str
    globals: Dict[str, Any]
    line_map: Tuple[LineMapEntry, ...]
    diagnostics: Tuple[Diagnostic, ...]
    version: Tuple[int, int]
    renamed: Dict[str, str]
    notes: Tuple[str, ...] = ()  # how a file was read, if not in the usual way
    _code: Optional[types.CodeType] = None
    _pyc: Optional[bytes] = None
    _first_lines: Tuple[int, ...] = ()
    _unstructured: bool = False
    _forms: Dict[str, int] = dataclasses.field(default_factory=dict)
    _facts: Optional[Dict[str, List[str]]] = None
    _apart: bool = False  # equal constants that are distinct objects get names
    _wanted: Optional[Tuple[int, int]] = None  # the version to read the file as
    _doubt: str = ""  # why its version is a guess
    _remarks: Tuple[str, ...] = ()  # contents of a file that its source does not show
    _hidden: Tuple[str, ...] = ()  # the source of code that nothing loads
    _strict: bool = False  # also compare the handlers of interruptions
    _relowered: Optional[Verdict] = None  # if requested together with the source

    @functools.cached_property
    def verdict(self) -> Verdict:
        """Whether the source means the same as the bytecode; computed on first use.

        A CPython of the original's version recompiles the source. If there is none, the syntax tree
        of a `.pyc` file is compared instead: see `verify`.
        """
        found = self.verify("recompiled")
        if found.tier == "none" and self._pyc is not None:
            return self.verify("relowered")
        return found

    def verify(self, tier: Tier) -> Verdict:
        """Return the verdict of one tier: "recompiled" or "relowered".

        "recompiled" compiles the source with a CPython of the original's version and compares both
        codes. If there is no such interpreter, its verdict has the tier "none". "relowered" does
        not need an interpreter: pellucid itself compiles the tree that was printed. It works for
        whole `.pyc` files, and checks everything except the printer. If the version of a file is
        ambiguous, nothing is proven. Raises ValueError for any other tier.
        """
        if tier not in ("recompiled", "relowered"):
            raise ValueError(f"not a tier of validation: {tier!r}")
        if self._doubt:
            return Verdict("unproven", tier, f"the version is a guess: {self._doubt}")
        if tier == "relowered":
            if self._relowered is not None:
                return self._relowered
            if self._pyc is None:
                return Verdict("unproven", "none", "only files are relowered")
            return _verdict(
                _core.relower_pyc(
                    *(self._pyc, self._unstructured, self._forms, self._wanted, self._strict)
                ),
                "relowered",
            )
        try:
            if self._code is not None:
                return self._verdict_of_live_code(self._code)
            assert self._pyc is not None
            marshalled = compile_to_marshal(self.source, self.version)
            compared = _core.compare_pyc(self._pyc, marshalled, self._wanted, self._strict)
            return _verdict(compared)
        except LookupError as error:
            return Verdict("unproven", "none", str(error))
        except SyntaxError as error:
            return Verdict("unproven", "recompiled", f"the source does not compile: {error}")
        except (CannotStandIn, DecompileError) as error:
            return Verdict("unproven", "recompiled", str(error))

    def meetings(self) -> "List[Tuple[str, List[Tuple[int, int]]]]":
        """Return where the proof of a file's text meets: offsets in both bytecodes, by path.

        Code objects that are not proven have none.
        """
        assert self._pyc is not None
        marshalled = compile_to_marshal(self.source, self.version)
        return _core.meetings_pyc(self._pyc, marshalled, self._wanted)

    def marked(
        self, verdict: Optional[Verdict], keeps_lines: bool = False, about: Sequence[str] = ()
    ) -> str:
        """Return the source with a comment in each body that a verdict does not prove.

        The lines of `about` come first, as comments. If the file contains something that its source
        does not show, comments at the start list it, and the source of code that nothing loads
        follows at the end. The comment on a body is on a separate line before its first statement,
        or before the definition if that is the whole source. If line numbers must stay the same,
        all comments follow the last line. Bodies without a source already say so.

        >>> def add(a, b):
        ...     return a + b
        >>> codes = (CodeVerdict("unproven", "add", "the stack differs", 4, 4),)
        >>> print(decompile_ex(add).marked(Verdict("unproven", "recompiled", "", codes)), end="")
        # unproven: add: the stack differs at byte 0x4
        def add(a, b):
            return a + b
        """
        comments = [(1, line) for line in (*about, *self._remarks)]
        for code in self.doubted(verdict) if verdict is not None else ():
            comments.append((self._first_lines[code.number], f"unproven: {code.place}"))
        comments += [(0xFFFFFFFF, line) for line in self._hidden]
        return _core.with_comments(self.source, comments, keeps_lines) if comments else self.source

    def doubted(self, verdict: Verdict) -> List[CodeVerdict]:
        """Return what a verdict does not prove, except bodies without a source, which say so."""
        lacking = {said.code for said in self.diagnostics if said.refused}
        codes = [code for code in verdict.codes if code.status == "unproven"]
        return [code for code in codes if code.code not in lacking]

    def __repr__(self) -> str:
        lines = self.source.count("\n")
        judged = self.__dict__.get("verdict")  # not computed for this
        said = f", {judged.status}" if judged is not None else ""
        name = self._code.co_name if self._code is not None else "file"
        return f"<Decompilation of {name}: {counted(lines, 'line')}{said}>"

    def __str__(self) -> str:
        return self.source

    def __getstate__(self) -> Dict[str, Any]:
        """Return the state to pickle: code as bytes, which only this Python version can read."""
        state = {name: value for name, value in self.__dict__.items() if name != "_recompiled"}
        code = None if self._code is None else marshal.dumps(self._code)
        return {**state, "_code": code, "_magic": importlib.util.MAGIC_NUMBER}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        code, magic = state["_code"], state.pop("_magic")
        if code is not None:
            if magic != importlib.util.MAGIC_NUMBER:
                raise pickle.UnpicklingError("pickled by another version of Python")
            state["_code"] = marshal.loads(code)
        self.__dict__.update(state)

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook."""
        from pellucid.notebook.html import decompilation_html

        return decompilation_html(self)

    def _verdict_of_live_code(self, code: types.CodeType) -> Verdict:
        return _verdict(
            _core.compare_codes(
                *(code, self._recompiled),
                extra_locals=True,
                facts=self._facts,
                apart=self._apart,
                strict=self._strict,
            )
        )

    @property
    def completed(self) -> Sequence[str]:
        """Return the names of nested functions that are also program-generated.

        Like the function itself, they get the variables that the source does not use.
        """
        return (self._facts or {}).get("nested", ())

    @functools.cached_property
    def _recompiled(self) -> types.CodeType:
        """Return the compiled source, without a file name: the code that the verdict covers."""
        assert self._code is not None
        return self.compile_text(self.source, f"<pellucid {self._code.co_name}>")

    def compile(self, filename: Optional[str] = None) -> types.CodeType:
        """Return a code object that may stand in for the original.

        `filename` is the file that tracebacks and debuggers open; the lines are those of
        `source`. Raises `CannotStandIn` if the source cannot be given the original's interface.

        >>> def add(a, b=1):
        ...     return a + b
        >>> decompile_ex(add).compile().co_varnames
        ('a', 'b')
        """
        if self._code is None:
            name = filename or "<pellucid>"
            with compiling():
                code = compile(self.source, name, "exec", dont_inherit=True, optimize=0)
            assert isinstance(code, types.CodeType)
            return code
        return self.compile_text(self.source, filename) if filename else self._recompiled

    def compile_text(
        self, text: str, filename: str, constants: "Optional[Dict[str, Any]]" = None
    ) -> types.CodeType:
        """Compile another text like `compile` does the source; return the code object.

        `constants` maps further names in the text to their objects.
        """
        assert self._code is not None
        known = {**self.globals, **(constants or {})}
        return stand_in(text, self._code, filename, self.renamed, known, self.completed)


def _verdict(
    compared: "Tuple[Status, List[Tuple[Status, str, str, int, int, int]]]",
    tier: Tier = "recompiled",
) -> Verdict:
    status, codes = compared
    verdicts = tuple(CodeVerdict(*code) for code in codes)
    for code in verdicts:
        if code.status == "unproven":
            return Verdict(status, tier, code.place, verdicts)
    reason = "no reason given" if status == "unproven" else ""
    return Verdict(status, tier, reason, verdicts)


def _result(
    raw: _core.Decompiled, code: Optional[types.CodeType], pyc: Optional[bytes], **more: Any
) -> Decompilation:
    return Decompilation(
        source=raw.source,
        globals=raw.globals,
        line_map=tuple(LineMapEntry(*entry) for entry in raw.line_map),
        diagnostics=tuple(Diagnostic(*entry) for entry in raw.diagnostics),
        version=raw.version,
        renamed=raw.renamed,
        notes=tuple(raw.notes),
        _code=code,
        _pyc=pyc,
        _doubt=raw.doubt,
        _remarks=tuple(raw.remarks),
        _hidden=tuple(raw.hidden),
        _first_lines=tuple(raw.first_lines),
        _relowered=None if raw.verdict is None else _verdict(raw.verdict, "relowered"),
        **more,
    )


def decompile(
    obj: Any, *, name: Optional[str] = None, line_length: int = 100, say_lost: bool = False
) -> str:
    """Return the source of a function, method, generator, coroutine, class, module or code object.

    `name` is the name to print instead of the object's own; `line_length` and `say_lost` are those
    of `decompile_pyc`. Code that Dynamo generated reads as in the files of a capture, whatever the
    options. For what `torch.compile` returned, it is the source of the function or
    of the module's `forward`. Raises TypeError if the object has no code, DecompileError if its
    code is invalid.

    >>> def add(a, b):
    ...     return a + b
    >>> print(decompile(add), end="")
    def add(a, b):
        return a + b
    """
    layout = {"line_length": line_length, "say_lost": say_lost}
    found = _of_torch(obj, name)
    return (found or _decompiled(_own(obj), name, False, {}, None, layout=layout)).source


def decompile_ex(
    obj: Any,
    *,
    name: Optional[str] = None,
    unstructured: bool = False,
    facts: Optional[Dict[str, List[str]]] = None,
    verify: str = "best",
    line_length: int = 100,
    say_lost: bool = False,
) -> Decompilation:
    """Decompile `obj`; return its source, verdict, line map and opaque constants.

    A body that is not proven is tried in other forms, down to a loop over a state. What is known of
    code that Dynamo generated in this process is used, unless `facts` or `unstructured` is given.
    For what `torch.compile` returned, it is the source of the function or of the module's
    `forward`, and `notes` says so.

    Args:
        obj: a function, method, generator, coroutine, class, module or code object.
        name: the name to print instead of the object's own.
        unstructured: write every body with a branch as a loop over a state.
        facts: what is known about generated code beyond its bytecode (see `src/object/facts.h`).
            Source and verdict build on it, and the source keeps nothing alive longer than the
            code does.
        verify: "strict" for a verdict that also says whether each loop handles an interruption,
            such as KeyboardInterrupt, where the code does. Code that Dynamo generated in this
            process has no such verdict.
        line_length: the columns of a line; a longer one is broken where that is possible.
        say_lost: have comments say what was in the source and the text cannot have.

    Raises:
        TypeError: `obj` has no Python code.
        DecompileError: its code is invalid.
        ValueError: `verify` is neither "best" nor "strict".
    """
    if verify not in BEST:
        raise ValueError(f'verify is "best" or "strict", not {verify!r}')

    own = _own(obj)
    notes = (_COMPILED,) if own is not obj else ()

    def judged(found: Decompilation) -> Decompilation:
        return dataclasses.replace(found, _strict=verify == "strict", notes=found.notes + notes)

    layout = {"line_length": line_length, "say_lost": say_lost}
    if unstructured:
        return judged(_decompiled(own, name, True, {}, facts, layout=layout))
    generated = _of_torch(obj, name) if facts is None else None
    return generated or search_live(own, name, facts, revise=judged, layout=layout)


_COMPILED = "this is what torch.compile was given, not the wrapper it returned"


# Imported here so that a process without PyTorch does not load the PyTorch side.
def _of_torch(obj: Any, name: Optional[str]) -> Optional[Decompilation]:
    """Return the decompilation of code that Dynamo generated; None for other code."""
    if "torch._dynamo.convert_frame" not in sys.modules:
        return None
    from pellucid.torch.adapter import decompile_generated

    return decompile_generated(obj, name)


def _own(obj: Any) -> Any:
    """Return the function passed to `torch.compile` for its result; other objects unchanged."""
    if "torch._dynamo.convert_frame" not in sys.modules:
        return obj
    from pellucid.torch.adapter import given_to_compile

    return given_to_compile(obj)


def search_live(
    obj: Any,
    name: Optional[str],
    facts: Optional[Dict[str, List[str]]],
    names: Optional[Dict[str, str]] = None,
    revise: "Callable[[Decompilation], Decompilation]" = lambda found: found,
    layout: "Optional[Dict[str, Any]]" = None,
) -> Decompilation:
    """Decompile `obj` in the first form that is proven, using only the given facts.

    `names` maps globals to the names that the source shows for them: one-to-one, and without names
    that the code already uses. `revise` changes the text before it is judged. `layout` has options
    of `decompile`.
    """

    def written(forms: "Dict[str, int]", apart: bool = False) -> Decompilation:
        return revise(_decompiled(obj, name, False, forms, facts, apart, names or {}, layout))

    found, verdict = proven_form(written, "best")
    if verdict.status != "unproven" or facts:
        return found
    # Equal literals in a text are one object. If the code has several, the others get names.
    if written({}, True).globals.keys() == written({}).globals.keys():
        return found
    other, better = proven_form(lambda forms: written(forms, True), "best")
    return other if better.status != "unproven" else found


def _decompiled(
    obj: Any,
    name: Optional[str],
    unstructured: bool,
    forms: "Dict[str, int]",
    facts: "Optional[Dict[str, List[str]]]",
    apart: bool = False,
    names: "Optional[Dict[str, str]]" = None,
    layout: "Optional[Dict[str, Any]]" = None,
) -> Decompilation:
    code = shown = code_of(obj)
    if name is not None:
        code = shown = code.replace(co_name=name)
    shown_facts = facts
    if names:
        shown = code.replace(co_names=tuple(names.get(each, each) for each in code.co_names))
        shown_facts = facts and {k: [_shown(e, names) for e in v] for k, v in facts.items()}
    raw = _core.decompile_code(
        shown,
        unstructured=unstructured,
        forms=forms,
        facts=shown_facts,
        apart=apart,
        **(layout or {}),
    )
    found = _result(raw, code, None, _facts=facts, _apart=apart)
    found.renamed.update({shown: real for real, shown in (names or {}).items()})
    function = getattr(obj, "__func__", obj)
    if isinstance(function, types.FunctionType):
        source, bindings = with_defaults(found.source, function)
        found = dataclasses.replace(found, source=source, globals={**found.globals, **bindings})
    return found


def _shown(name: str, names: "Dict[str, str]") -> str:
    """Return a global's name, or "module.attribute", as the source shows it."""
    module, dot, attribute = name.partition(".")
    return names.get(module, module) + dot + attribute


def decompile_pyc(
    data: bytes,
    *,
    keep_lines: bool = False,
    unstructured: bool = False,
    version: Optional[Tuple[int, int]] = None,
    line_length: int = 100,
    say_lost: bool = False,
) -> Decompilation:
    """Decompile the bytes of a `.pyc` file of CPython 3.8-3.15. Nothing in it is executed.

    Args:
        data: the bytes of the file. If its header is wrong or missing, the version is the one that
            fits, and `notes` says so.
        keep_lines: keep statements on their original lines, so that tracebacks and coverage match.
        unstructured: do not recover control flow.
        version: the Python version of the file, such as `(3, 12)`.
        line_length: the columns of a line; a longer one is broken where that is possible.
        say_lost: have comments say what the bytecode shows to have been in the source and the text
            cannot have: annotations of locals, folded expressions, constants as statements. Only
            Python 3.11 and later show them.

    Raises:
        DecompileError: the bytes do not contain a code object.
    """
    layout = {"keep_lines": keep_lines, "line_length": line_length, "say_lost": say_lost}
    return _file(data, {}, layout, unstructured, version)


def _file(
    data: bytes,
    forms: "Dict[str, int]",
    layout: Dict[str, Any],
    unstructured: bool,
    version: Optional[Tuple[int, int]],
    relower: bool = False,
    line_map: bool = True,
    strict: bool = False,
    syntax: Optional[Tuple[int, int]] = None,
    facts: Optional[Dict[str, List[str]]] = None,
) -> Decompilation:
    raw = _core.decompile_pyc(
        data,
        unstructured=unstructured,
        forms=forms,
        version=version,
        verify=relower,
        line_map=line_map,
        strict=strict,
        syntax=syntax,
        facts=facts,
        **layout,
    )
    how = {"_unstructured": unstructured, "_forms": forms, "_wanted": version, "_strict": strict}
    return _result(raw, None, data, **how)


def of_source(text: str) -> Decompilation:
    """Return the decompilation of a source text that was found in a file: the text is unchanged."""
    note = "the constant holds the text of a source, which is given as it is"
    return Decompilation(text, {}, (), (), sys.version_info[:2], {}, (note,))


def prove_pyc(
    data: bytes,
    tier: str = "best",
    *,
    keep_lines: bool = False,
    unstructured: bool = False,
    version: Optional[Tuple[int, int]] = None,
    line_map: bool = True,
    syntax: Optional[Tuple[int, int]] = None,
    line_length: int = 100,
    say_lost: bool = False,
) -> "Tuple[Decompilation, Verdict]":
    """Decompile like `decompile_pyc`, and try other forms of unproven bodies.

    `tier` is "recompiled", "relowered" or "best": "recompiled" if there is an interpreter for it;
    "strict" is "best", and also compares the handlers of interruptions. Returns the decompilation
    with its verdict; raises what `decompile_pyc` raises. Without `line_map` the map is empty, which
    saves some time. `syntax` is the version that can read the source, if not the file's.
    """
    # Decompiling and relowering together takes half the time of doing one after the other.
    relower = tier == "relowered" or (
        tier in BEST and find_interpreter(version or _core.pyc_version(data)) is None
    )
    layout = {"keep_lines": keep_lines, "line_length": line_length, "say_lost": say_lost}
    how = (version, relower, line_map, tier == "strict", syntax)
    if unstructured:
        found = _file(data, {}, layout, True, *how)
        return found, verdict_of(found, tier)
    return proven_form(lambda forms: _file(data, forms, layout, False, *how), tier)


def generated_file(
    data: bytes, version: Tuple[int, int], facts: Dict[str, List[str]], forms: "Dict[str, int]"
) -> Decompilation:
    """Decompile marshalled code of a function that a program generated, with what is known of it.

    The source is in the syntax of the running Python, and no interpreter is needed. The facts name
    the function as nested (see `src/object/facts.h`). Raises what `decompile_pyc` raises.
    """
    how = (version, True, True, False, sys.version_info[:2], facts)
    return _file(data, forms, {}, False, *how)


def contents_of(data: bytes, version: Optional[Tuple[int, int]] = None) -> Dict[str, Any]:
    """Return the contents of a file's bytes, whether or not its source shows them.

    The keys are those of `inspect_pyc` in `src/python/module.cpp`. Raises DecompileError if the
    bytes do not contain a code object.
    """
    return _core.inspect_pyc(data, version)
