# SPDX-License-Identifier: Apache-2.0
"""The files of a dump, as far as running them takes."""

import ast
import importlib.util
import re
import types
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

import pellucid
import torch
from pellucid.dump.model.events import Frame

Place = Tuple[str, int, str]
_SIBLING = re.compile(r"^(\w+) = (graph|resumed)\(globals\(\), '([^']+)'", re.MULTILINE)
_LACKING = re.compile(r"^# Defined only in the program: (.*(?:\n# .*)*)", re.MULTILINE)
_CONSTANT = re.compile(r"^# (_const_\w+): (.+)$", re.MULTILINE)
# torch puts a function of its own around some of what it compiles, under the name of that.
_AROUND = "external_utils.py"


class CannotReplay(Exception):
    """The files of a capture do not have all that running them takes."""


class FullCode:
    """A `full_code_for_*` file: a function's guards and versions, and the names they use."""

    def __init__(self, path: Path) -> None:
        """Import a file."""
        spec = importlib.util.spec_from_file_location(f"replayed_{path.stem}", path)
        if spec is None or spec.loader is None:
            raise CannotReplay(f"{path.name} cannot be imported")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        text = path.read_text(encoding="utf-8")
        self.name = path.name
        self.names = vars(module)
        self.tree = ast.parse(text)
        self.siblings = {name: (kind, file) for name, kind, file in _SIBLING.findall(text)}
        self.lacking = {
            word for part in _LACKING.findall(text) for word in re.findall(r"\w+", part)
        }
        self.slugs = [name[7:] for name in self.names if name.startswith("guards_")]
        self.original = next(
            (v for n, v in self.names.items() if n.startswith("__original_")), None
        )

    def holds(self, slug: str, local: Dict[str, Any], scope: Dict[str, Any]) -> bool:
        """Whether the guards of a version hold."""
        return bool(self.names[f"guards_{slug}"](local, scope))

    def refused(self, slug: str, local: Dict[str, Any], scope: Dict[str, Any]) -> str:
        """The first guard of a version that does not hold, in words."""
        failure = self.names[f"guards_{slug}"].failing(local, scope)
        where = f"{self.name}:{failure.line}"
        return f"{failure.kind} of {failure.source} ({where}) {failure.reason}".strip()

    def transformed(self, slug: str, free: Iterable[str] = ()) -> types.CodeType:
        """The transformed code of a version, with these closure variables."""
        prefix = f"__transformed_code_{slug}_for_"
        name = next(name for name in self.names if name.startswith(prefix))
        code: types.CodeType = self.names[name].__code__
        outside = sorted(set(free) - set(code.co_freevars))
        if not outside:
            return code
        # The file shows a closure variable as a global name, which no `nonlocal` needs.
        found = [n for n in self.tree.body if isinstance(n, ast.FunctionDef) and n.name == name]
        return with_closure(found[-1], outside, code.co_filename)


def with_closure(function: ast.FunctionDef, free: Sequence[str], file: str) -> types.CodeType:
    """Compile a function whose closure variables are these."""
    wrapped = ast.parse(f"def closure({', '.join(free)}):\n    pass")
    outer = wrapped.body[0]
    assert isinstance(outer, ast.FunctionDef)
    outer.body = [function]
    code = compile(wrapped, file, "exec")
    for _ in range(2):
        code = next(c for c in code.co_consts if isinstance(c, types.CodeType))
    return code


class Files:
    """The dump of a capture, or of one rank of it."""

    def __init__(self, folder: Path) -> None:
        """Read the record of a dump."""
        self.folder = folder
        capture = pellucid.load(folder)
        self.functions: Dict[Place, int] = {}
        self.constants: Dict[str, Any] = {}
        for frame in capture.of(Frame):
            if not frame.before:
                name = frame.wrapper or frame.place.function
                key = (Path(frame.place.file).name, frame.place.line, name)
                self.functions[_known(key)] = frame.function
                self._read_constants(folder / frame.file)
        self.order: Dict[int, List[str]] = {
            function: [entry.key.slug for entry in entries]
            for function, entries in capture.caches.items()
        }
        self._full_codes: Dict[str, FullCode] = {}
        self._by_slug: Dict[str, str] = {}
        for path in folder.glob("full_code_for_*.py"):
            for slug in re.findall(r"^def guards_(\w+)\(", path.read_text("utf-8"), re.MULTILINE):
                self._by_slug[slug] = path.name

    def function(self, code: types.CodeType) -> Optional[int]:
        """The number of a captured function; None of one that was not captured."""
        place = (Path(code.co_filename).name, code.co_firstlineno, code.co_name)
        return self.functions.get(_known(place))

    def full_code(self, function: int) -> FullCode:
        """The file that has the guards and the versions of a function."""
        for slug in self.order.get(function, ()):
            if slug in self._by_slug:
                return self.full_code_named(self._by_slug[slug])
        raise CannotReplay("the program has dropped a function, and torch its guards with it")

    def full_code_named(self, name: str) -> FullCode:
        """A `full_code_for_*` file, imported once."""
        if name not in self._full_codes:
            self._full_codes[name] = FullCode(self.folder / name)
        return self._full_codes[name]

    def number_of(self, slug: str) -> int:
        """The function that a version belongs to."""
        return next(number for number, slugs in self.order.items() if slug in slugs)

    def _read_constants(self, path: Path) -> None:
        """What constants are that have no literal, as the head of a transformed file tells it."""
        for name, text in _CONSTANT.findall(path.read_text(encoding="utf-8")):
            try:
                self.constants[name] = eval(text, {"torch": torch})
            except Exception:  # words, not an expression: whoever needs it says that it is lacking
                continue


def _known(place: Place) -> Place:
    return (place[0], place[1], "") if place[0] == _AROUND else place
