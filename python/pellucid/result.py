# SPDX-License-Identifier: Apache-2.0
"""One decompilation: its source, what is known of it, and the proof that it means the same."""

import dataclasses
import functools
import importlib.util
import marshal
import pickle
import types
from typing import Any, Dict, List, Optional, Sequence, Tuple

from pellucid import _core
from pellucid.brief import counted
from pellucid.errors import CannotStandIn, DecompileError
from pellucid.interpreters import compile_to_marshal, compiling
from pellucid.recompile import stand_in
from pellucid.shown import Shown
from pellucid.verdicts import CodeVerdict, Diagnostic, LineMapEntry, Status, Tier, Verdict


@dataclasses.dataclass(frozen=True, repr=False)
class Decompilation(Shown):
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

        >>> from pellucid import decompile_ex
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

        >>> from pellucid import decompile_ex
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


def result_of(
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
