# SPDX-License-Identifier: Apache-2.0
"""Applying a remedy in one process of the program, and collecting the results of compiled code."""

from __future__ import annotations

import contextlib
import importlib
import os
import random
import re
from pathlib import Path
from typing import Any, Mapping

from .edited import Edited, paths
from .edits import DoesNotApply
from .working import announce


class Applied:
    """The remedy in an order.

    Args:
        asked: the order; see :mod:`.trial`.
    """

    def __init__(self, asked: Mapping[str, Any]) -> None:
        self._asked = asked
        remedy: Mapping[str, Any] = asked["remedy"] or {}
        self._kind, self._code = remedy.get("kind", ""), remedy.get("code", "")
        self._target: Mapping[str, Any] = remedy.get("target") or {}
        self._results: Any = None
        self._change: Any = None
        self.refused = ""
        """Why it cannot be applied; empty if it can."""
        self.edited: Edited | None = None
        if self._kind == "edit":
            try:
                file = self._target["file"]
                self.edited = Edited(file, remedy["diff"], self._copy_of(file))
            except (DoesNotApply, OSError) as error:
                self.refused = str(error)

    def _copy_of(self, file: str) -> str:
        inside = os.path.relpath(file, self._asked["folder"])
        return "" if inside.startswith(os.pardir) else os.path.join(self._asked["working"], inside)

    def before_compiling(self) -> None:
        """Apply settings and options, and start recording the results of compiled functions."""
        from .compiled import Change, Compiled, mark_before_compiling
        from .results import Results

        _seed()
        options: Mapping[str, Any] = {}
        if self._kind == "setting":
            self.refused = self.refused or _set(self._code)
        elif self._kind == "option":
            options = eval(f"dict({self._code})", {})
        elif self._kind in ("mark", "argument"):
            file = self._target["file"]
            files = paths(file, self._copy_of(file))
            self._change = Change(self._code, files, self._target["function"], [])
            if self._kind == "mark" and not mark_before_compiling(self._change):
                self.refused = "this torch has no place for it"
        _announce_saves()
        self._results = Results()
        changes = self._change if self._kind == "argument" else None
        Compiled(self._results, options, changes).install()

    def answer(self, raised: str, process: str = "") -> dict[str, Any]:
        """Return the answer of this process.

        Args:
            raised: the exception that ended the program here.
            process: the name of this process; empty for the first.
        """
        answer = {"raised": raised, "applied": self.refused, "idle": self._idle()}
        if self._results is not None:
            if not raised:  # a half-trained model is not a result
                self._results.end()
            answer.update(self._compared(process))
        return answer

    def _idle(self) -> str:
        """Return why the remedy changed nothing in this process; empty if it did."""
        if self.edited is not None and not self.edited.was_loaded:
            return f"the program did not load {self.edited.file}"
        if self._change is not None and "" not in self._change.runs:
            runs: list[str] = self._change.runs
            return runs[0] if runs else "the function was not compiled"
        return ""

    def _compared(self, process: str) -> dict[str, Any]:
        import torch

        from .results import compare

        before = Path(self._asked["results"])
        if process:
            before = before.with_name(f"{process}-{before.name}")
        if self._asked["remedy"] is None:
            torch.save(self._results.kept, str(before))
        elif before.exists():
            kept = torch.load(str(before), weights_only=True)
            return compare(kept, self._results.kept)._asdict()
        return {}


def _seed() -> None:
    import torch

    random.seed(0)
    torch.manual_seed(0)
    with contextlib.suppress(ImportError):
        importlib.import_module("numpy").random.seed(0)
    # Inductor draws like eager, so different graphs get the same random numbers.
    _set("torch._inductor.config.fallback_random = True")


def _announce_saves() -> None:
    """Report files that torch and safetensors write natively to :mod:`.working`."""
    import torch

    torch.save = announce(torch.save, 1)
    with contextlib.suppress(ImportError):
        tensors: Any = importlib.import_module("safetensors.torch")
        tensors.save_file = announce(tensors.save_file, 1)


_MODULE = re.compile(r"^torch(?:\.\w+)*?\.config\b")


def _set(statement: str) -> str:
    """Run a setting; return why it failed, or an empty string."""
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
