"""Compare the guards of dumped files with torch's own guard managers, call by call.

    python check_guards.py [--cases FILE] [--timm] [--transformers] [--zoo NAMES] [--calls N]

Programs are compiled under ``prepare_debug``; each dumped ``full_code_for_*.py`` is imported, and
every version's guards are asked about the frames that the program really made, as they were and
changed: tensors of another type, shape or layout, other globals, closures and attributes, modes.
torch's ``check_verbose`` and ``check`` are asked the same.  Where one says yes and the other no, or
they name different guards, that is a disagreement, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import importlib.util
import random
import re
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import Any, Callable, Iterable, Iterator

import guard_perturb
from guard_programs import Program, cases, timm_models, transformers_models, zoo_models
from pellucid.dump.model.events import CacheEntry, Guard
from pellucid.dump.model.names import scrub
from pellucid.torch import prepare_debug
from pellucid.torch.guards.checks import Failure, Guards
from pellucid.torch.guards.kinds import split
from pellucid.torch.taps import guard_state, hooks
from pellucid.torch.taps.guard_tree import read_tree


@dataclass
class Version:
    """One compiled version, with both ways to decide, and the frames that it saw."""

    label: str
    function: int
    ours: Guards
    theirs: Any
    entry: CacheEntry
    frames: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Table:
    """What was compared, and where the two differ."""

    programs: int = 0
    versions: int = 0
    calls: int = 0
    held: int = 0
    kinds: collections.Counter[str] = field(default_factory=collections.Counter)
    failed: collections.Counter[str] = field(default_factory=collections.Counter)
    undecided: collections.Counter[str] = field(default_factory=collections.Counter)
    unreached: int = 0
    themselves: int = 0
    different: list[str] = field(default_factory=list)

    def show(self) -> str:
        """The table as text."""
        lines = [
            f"{self.programs} programs, {self.versions} frames' compiled versions",
            f"{self.calls} calls, of which {self.held} pass; {len(self.different)} disagreements",
            f"{self.themselves} calls where torch's check and check_verbose differ",
            f"{self.unreached} values that the dumped files cannot reach",
            f"{'kind':36} {'guards':>8} {'failures named':>15} {'only by process':>16}",
        ]
        for kind, count in sorted(self.kinds.items()):
            lines.append(f"{kind:36} {count:8} {self.failed[kind]:15} {self.undecided[kind]:16}")
        lines.append(f"{'(a value that is not there)':36} {'':8} {self.failed['']:15}")
        return "\n".join([*lines, *self.different[:40]])


def compare(program: Program, calls: int, rng: random.Random, table: Table) -> None:
    """Compile one program, and compare its guards over about so many calls."""
    import torch

    name, make = program
    torch._dynamo.reset()
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        function, arguments = make()
        compiled = torch.compile(function, backend="eager")
        with prepare_debug(directory) as session:
            for call in arguments:
                with contextlib.suppress(Exception):
                    compiled(*call)
        versions = list(_versions(name, Path(directory), session))
        if not versions:
            return
        _, arguments = make() if not isinstance(function, torch.nn.Module) else (None, arguments)
        _watch(versions, lambda: [_quiet(compiled, call) for call in arguments])
        table.programs += 1
        for _, version in versions:
            # A frame of any version of a function is a frame that all of them are asked about.
            others = [v for _, v in versions if v.function == version.function and v.frames]
            version.frames = version.frames or [frame for v in others for frame in v.frames][:2]
            if version.frames:
                _compare_version(version, max(8, calls // len(versions)), rng, table)


def _quiet(function: Callable[..., Any], arguments: Any) -> None:
    with contextlib.suppress(Exception):
        function(*arguments)


def _versions(name: str, directory: Path, session: Any) -> Iterator[tuple[CodeType, Version]]:
    modules = {path: _imported(path) for path in sorted(directory.glob("full_code_for_*.py"))}
    for number, code in session.functions.all():
        if code is None:
            continue
        raws = hooks.cache_entries(code)
        for raw, entry in zip(raws, session.functions.cache(number)):
            found = [
                vars(module)[f"guards_{entry.key.slug}"]
                for module in modules.values()
                if f"guards_{entry.key.slug}" in vars(module)
            ]
            if found and raw.guard_manager is not None:
                label = f"{name} {code.co_name} [{entry.key}]"
                yield raw.code, Version(label, number, found[0], raw.guard_manager, entry)


def _imported(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _watch(versions: list[tuple[CodeType, Version]], run: Callable[[], Any]) -> None:
    """Run the program again, and keep what each version's frames begin with."""
    by_code = {id(code): version for code, version in versions}  # some constants have no hash

    def profile(frame: Any, event: str, _: object) -> None:
        if event == "call" and id(frame.f_code) in by_code:
            version = by_code[id(frame.f_code)]
            if len(version.frames) < 2:
                version.frames.append(dict(frame.f_locals))

    hooks.never_compile(profile.__code__)
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)


def _compare_version(version: Version, calls: int, rng: random.Random, table: Table) -> None:
    table.versions += 1
    table.unreached += sum("not decided: " in line for line in version.entry.body)
    for guard in version.entry.guards:
        table.kinds[guard.kind] += 1
        table.undecided[guard.kind] += guard.expression is None
    root = version.theirs.root
    scope = (version.theirs.global_scope or {}).get("G", {})
    names = guard_state.names()
    share = calls // len(version.frames)
    for frame in version.frames:
        _ask(version, frame, scope, "as it was", table)
        for what, change in guard_perturb.states():
            with change():
                _ask(version, frame, scope, what, table)
        top, _ = read_tree(root)
        found = guard_perturb.places(top, frame, scope, names)
        import torch

        pool = [place[2] for place in found if isinstance(place[2], torch.Tensor)] or [None]
        asked = 0
        for place in rng.sample(found, len(found)):
            if asked >= share:
                break
            manager, above, value, _ = place
            others = [*guard_perturb.other_values(value, rng, pool), guard_perturb.MISSING]
            for other in rng.sample(others, min(4, len(others))):
                with guard_perturb.replaced(manager, above, other) as done:
                    if done:
                        asked += 1
                        what = f"{manager.source} replaced by {_brief(other)}"
                        _ask(version, frame, scope, what, table)


def _brief(value: Any) -> str:
    if value is guard_perturb.MISSING:
        return "nothing"
    shape = tuple(getattr(value, "shape", ())) if hasattr(value, "dtype") else ""
    return f"a {type(value).__qualname__} {shape}"


def _ask(
    version: Version,
    frame: dict[str, Any],
    scope: dict[str, Any],
    what: str,
    table: Table,
) -> None:
    table.calls += 1
    root = version.theirs.root
    verbose = root.check_verbose(frame)
    # Of a clone: torch orders a tree anew when a check fails, and remembers what it has seen.
    if _checked(root, frame) not in (None, verbose.result):
        table.themselves += 1
    ours = version.ours.failing(frame, scope)
    told = [str(part) for part in verbose.verbose_code_parts]
    if (ours is None) != verbose.result:
        table.different.append(
            f"DECIDED OTHERWISE {version.label}, {what}: "
            f"ours {ours}; torch {verbose.result}, {told}"
        )
    elif ours is None:
        table.held += 1
    else:
        guards = version.entry.guards
        guard = guards[ours.number] if ours.number < len(guards) else None
        table.failed[guard.kind if ours.kind and guard is not None else ""] += 1
        if not same(ours, guard, told):
            table.different.append(
                f"NAMED OTHERWISE {version.label}, {what}: ours {ours} {guard}; torch {told}"
            )


def _checked(root: Any, frame: dict[str, Any]) -> bool | None:
    """What torch's faster check says; None where it cannot be asked."""
    import torch

    if not hasattr(root, "clone_manager"):
        return None
    # It takes for granted that what was a dict is one.  For anything else it may raise, and then
    # it leaves torch functions off; this context has them on again.
    on = torch._C._is_torch_function_enabled()
    with guard_state.with_torch_function() if on else contextlib.nullcontext():
        try:
            return bool(root.clone_manager(lambda _: True).check(frame))
        except RuntimeError:
            root.check_verbose({})  # what it has seen so far is forgotten only when it ends
            return None


def same(ours: Failure, guard: Guard | None, told: list[str]) -> bool:
    """Whether torch's words for a failure are about the guard that we name."""
    first = scrub(told[0]) if told else ""
    if ours.reason and ours.reason.partition(": ")[2][:40] in first:
        return True  # torch passes the exception's own words on
    if ours.kind == "" or guard is None:
        return first.endswith(ours.source) or first.startswith(_ANY_ACCESS)
    source = guard.source
    patterns = {
        "GLOBAL_STATE": "GLOBAL_STATE changed: ",
        "NO_TENSOR_ALIASING": "Duplicate tensor found where not expected!",
        "DICT_KEYS": f"TYPE_MISMATCH({source})|len({source}) != ",
        "DIMENSION_DYNAMIC_MARKING_GUARD": "_has_dynamo_dim_marking is present|_dynamo",
    }
    if ours.kind == "TENSOR_MATCH":  # whose name is not always that of the value's manager
        parts = guard.text[len("check_tensor(") :].split(", ")
        names = [", ".join(parts[:count]) for count in range(1, len(parts))]
        begins = ("tensor '{}' ", "expected type of '{}' ")
        return first.startswith(tuple(begin.format(name) for name in names for begin in begins))
    if ours.kind in patterns:
        return first.startswith(tuple(patterns[ours.kind].split("|")))
    return any(
        scrub(split(part)[0]) in (guard.text, *guard.text.split(" and ")) for part in told
    ) or (guard.text.startswith(scrub(split(told[0])[0])) if told else False)


_ANY_ACCESS = ("tensor has too few dimensions", "not a tensor")


def main() -> int:
    """Run what the command line asks for; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--cases", type=Path, help="a file with a table CASES")
    parser.add_argument("--timm", action="store_true")
    parser.add_argument("--transformers", action="store_true")
    parser.add_argument("--zoo", default="", help="models of gallery/zoo: SUITE/NAME,…")
    parser.add_argument("--only", default="", help="programs whose name matches this")
    parser.add_argument("--calls", type=int, default=200, help="about so many for each program")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no program after these")
    options = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    programs: list[Iterable[Program]] = []
    programs += [cases(options.cases)] if options.cases else []
    programs += [timm_models()] if options.timm else []
    programs += [transformers_models()] if options.transformers else []
    programs += [zoo_models(options.zoo.split(","))] if options.zoo else []
    table, rng, begun = Table(), random.Random(options.seed), time.monotonic()
    for program in (program for some in programs for program in some):
        if time.monotonic() - begun < options.seconds and re.search(options.only, program[0]):
            before = len(table.different)
            try:
                compare(program, options.calls, rng, table)
            except Exception as error:
                print(f"{program[0]}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
            print(
                f"{program[0]}: {table.versions} versions, {table.calls} calls so far, "
                f"{len(table.different) - before} disagreements here",
                file=sys.stderr,
            )
    print(table.show())
    return 1 if table.different or not table.calls else 0


if __name__ == "__main__":
    sys.exit(main())
