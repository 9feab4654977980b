# SPDX-License-Identifier: Apache-2.0
"""The process of a trial, which a :mod:`.server` starts with an order.

The order is a JSON file; the answer is written beside it. See :mod:`.trial` for both.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import io
import json
import linecache
import os
import random
import re
import runpy
import sys
import time
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Mapping

from .edits import DoesNotApply, apply
from .working import Working, announce


def main(order: Path) -> None:
    """Run the program of an order and write the answer."""
    asked = json.loads(order.read_text(encoding="utf-8"))
    os.chdir(asked["working"])
    sys.dont_write_bytecode = True
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = asked["cache"]
    Working(asked["working"], asked["kept"]).watch()
    answer = {"raised": "", "applied": "", "seconds": 0.0, "compared": 0, "difference": None}
    try:
        _run(asked, answer)
    finally:
        order.with_name("answer.json").write_text(json.dumps(answer), encoding="utf-8")


def _run(asked: Mapping[str, Any], answer: dict[str, Any]) -> None:
    from ..api.prepare import prepare_debug
    from .compiled import Change, Compiled, mark_before_compiling
    from .results import Results

    remedy: Mapping[str, Any] = asked["remedy"] or {}
    kind, code = remedy.get("kind", ""), remedy.get("code", "")
    _seed()
    edited, change, options = None, None, {}
    if kind == "setting":
        answer["applied"] = _set(code)
    elif kind == "edit":
        try:
            edited = Edited(remedy["target"]["file"], remedy["diff"])
        except (DoesNotApply, OSError) as error:
            answer["applied"] = str(error)
            return
        edited.install()
    elif kind == "option":
        options = eval(f"dict({code})", {})
    elif kind in ("mark", "argument"):
        change = Change(code, remedy["target"]["file"], remedy["target"]["function"], [])
        if kind == "mark" and not mark_before_compiling(change):
            answer["applied"] = "this torch has no place for it"
    _announce_saves()
    results = Results()
    Compiled(results, options, change if kind == "argument" else None).install()
    started = time.monotonic()
    with prepare_debug(asked["out"]) as session:
        session.warns_when_empty = False
        session.command = ()
        if edited is not None:
            session.sources[edited.file] = edited.text.encode()
        answer["raised"] = _program(asked["command"], asked["folder"], edited)
        answer["seconds"] = time.monotonic() - started
    if edited is not None and not edited.was_loaded:
        answer["applied"] = f"the program did not load {edited.file}"
    if change is not None and "" not in change.runs:
        answer["applied"] = change.runs[0] if change.runs else "the function was not compiled"
    _compare(results, asked, answer)


def _seed() -> None:
    import torch

    random.seed(0)
    torch.manual_seed(0)
    with contextlib.suppress(ImportError):
        importlib.import_module("numpy").random.seed(0)
    # Inductor draws as eager does: what a graph consists of does not change the numbers.
    with contextlib.suppress(ImportError):
        inductor: Any = importlib.import_module("torch._inductor.config")
        inductor.fallback_random = True


def _announce_saves() -> None:
    """Let :mod:`.working` hear of what torch and safetensors write without Python's ``open``."""
    import torch

    torch.save = announce(torch.save, 1)
    with contextlib.suppress(ImportError):
        tensors: Any = importlib.import_module("safetensors.torch")
        tensors.save_file = announce(tensors.save_file, 1)


_MODULE = re.compile(r"^torch(?:\.\w+)*?\.config\b")


def _set(statement: str) -> str:
    """Run a setting; why it cannot be run, or nothing."""
    import logging
    import warnings

    import torch

    try:
        module = _MODULE.match(statement)
        if module is not None:
            importlib.import_module(module[0])
        exec(statement, {"torch": torch, "logging": logging, "warnings": warnings})
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _program(command: list[str], folder: str, edited: Edited | None) -> str:
    """Run the program; what it raised, in one line."""
    sys.argv = list(command)
    try:
        if command[0] == "-m":
            sys.argv = command[1:]
            sys.path[0] = folder
            runpy.run_module(command[1], run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = os.path.dirname(os.path.abspath(command[0]))
            _run_file(command[0], edited)
    except SystemExit as error:
        return "" if error.code in (None, 0) else f"SystemExit: {error.code}"
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
    return ""


def _run_file(path: str, edited: Edited | None) -> None:
    module = ModuleType("__main__")
    loader = SourceFileLoader("__main__", path)
    module.__dict__.update(
        __file__=path, __builtins__=builtins, __cached__=None, __spec__=None, __loader__=loader
    )
    code = edited.code_of(path) if edited is not None else None
    if code is None:
        with io.open_code(path) as stream:
            code = compile(stream.read(), path, "exec", dont_inherit=True)
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


class Edited:
    """A file of the program's that is another one in this process, and nowhere else."""

    def __init__(self, file: str, diff: str) -> None:
        self.file = file
        self.text = apply(Path(file).read_text(encoding="utf-8"), diff).text
        self.was_loaded = False

    def install(self) -> None:
        """Load the file with its changes from now on; tracebacks show them as well."""
        linecache.cache[self.file] = (
            len(self.text), None, self.text.splitlines(keepends=True), self.file
        )  # fmt: skip
        usual = SourceFileLoader.get_code

        def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
            return self.code_of(loader.path) or usual(loader, name)

        SourceFileLoader.get_code = get_code  # type: ignore

    def code_of(self, path: str) -> CodeType | None:
        """Return the code of the file; None for another one."""
        if os.path.realpath(path) != os.path.realpath(self.file):
            return None
        self.was_loaded = True
        return compile(self.text, path, "exec", dont_inherit=True)


def _compare(results: Any, asked: Mapping[str, Any], answer: dict[str, Any]) -> None:
    import torch

    from .results import compare

    if not answer["raised"]:  # what is half trained is no result
        results.end()
    kept = Path(asked["results"])
    if asked["remedy"] is None:
        torch.save(results.kept, str(kept))
    elif kept.exists():
        before = torch.load(str(kept), weights_only=True)
        found = compare(before, results.kept)
        answer["compared"], answer["difference"] = found.compared, found.difference
        answer["apart"], answer["name"] = found.are_apart, found.name
