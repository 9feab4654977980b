"""Programs for check_ran.py: those of tests/torch/programs and the gallery, and tables of cases.

Each is a name and a function that runs it once, with the backend that it is given.
"""

import contextlib
import functools
import importlib
import importlib.util
import os
import re
import runpy
import sys
import tempfile
import unittest.mock
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Dict, Iterable, Iterator, Tuple

HERE = Path(__file__).resolve()
PROGRAMS = HERE.parents[1] / "programs"
GALLERY = HERE.parents[3] / "gallery" / "programs"

Run = Callable[[str], object]
"""Runs a program with this backend; with an empty name, with the program's own."""
Program = Tuple[str, Run]


def every_program() -> Iterator[Program]:
    """Yield the programs of tests/torch/programs and of the gallery."""
    yield from gallery()
    yield from _tables()
    yield from _functions()
    yield from doors()


def gallery() -> Iterator[Program]:
    """Yield the gallery's programs."""
    for file in sorted(GALLERY.glob("*.py")):
        yield f"gallery/{file.stem}", functools.partial(_of_gallery, file)


def cases(path: Path) -> Iterator[Program]:
    """Yield the cases of a Python file: ``CASES[name] = (style, make)``."""
    for name, (_, make) in _module(path).CASES.items():
        yield f"case/{name}", functools.partial(_made, make)


def scripts(folder: Path) -> Iterator[Program]:
    """Yield the scripts of a folder that are not imported by others."""
    for file in sorted(folder.glob("aot*.py")):
        yield f"{folder.name}/{file.stem}", functools.partial(_script, file)


def _tables() -> Iterator[Program]:
    """Programs that a table has."""
    for name, entry in _module(PROGRAMS / "asked.py").ASKED.items():
        yield f"asked/{name}", functools.partial(_asked, entry[0])
    for file in ("faults", "more_faults"):
        faults = _module(PROGRAMS / f"{file}.py").FAULTS
        for name, (function, args, _, _, options) in faults.items():
            yield f"{file}/{name}", functools.partial(_call, function, [args], **options)
    for name, make in _module(PROGRAMS / "guarded.py").PROGRAMS.items():
        yield f"guarded/{name}", functools.partial(_made, make)
    for name, make in _module(PROGRAMS / "small_models.py").MODELS.items():
        yield f"small_models/{name}", functools.partial(_made, lambda make=make: _one_call(make))
    for name, fault in _module(PROGRAMS / "partings" / "__init__.py").FAULTS.items():
        yield f"partings/{name}", functools.partial(_parting, fault)


def doors() -> Iterator[Program]:
    """Yield the programs whose compiled code arrives in several ways."""
    for name, run in _module(PROGRAMS / "doors.py").DOORS.items():
        yield f"doors/{name}", functools.partial(_door, run)


def _functions() -> Iterator[Program]:
    """Programs that are functions, with what each is called with."""
    for file, calls in _CALLS.items():
        module = _module(PROGRAMS / f"{file}.py")
        for name, arguments in calls.items():
            yield f"{file}/{name}", functools.partial(_named, module, name, arguments)
    yield "logged/alone", lambda backend: _module(PROGRAMS / "logged.py").alone()
    yield "job/compute", lambda backend: _module(PROGRAMS / "job.py").compute(3)
    yield "effects/run", _effects


def _x(*shape: int) -> Any:
    import torch

    return torch.arange(float(torch.Size(shape).numel())).reshape(shape)


_CALLS: Dict[str, Dict[str, Callable[[Any], Iterable[Any]]]] = {
    "several": {
        "plain": lambda m: [(_x(2),)],
        "sized": lambda m: [(_x(2),), (_x(3),)],
        "raises": lambda m: [(_x(2),)],
        "closes": lambda m: [(m.closes(_x(2)), _x(2))],
        "flagged": lambda m: [(_x(2),), (_x(2), False)],
        "trains": lambda m: [(_x(3),)],
        "counts": lambda m: [(m.counts()[0], _x(2))],
        "counts_on_both_sides": lambda m: [(m.counts_on_both_sides(), _x(2))],
    },
    "reading": {
        "reports": lambda m: [(_x(2),)],
        "asks": lambda m: [(_x(2),)],
        "stops": lambda m: [(_x(2),)],
        "gives_a_generator": lambda m: [(_x(2),)],
        "makes": lambda m: [(_x(2),)],
        "decides": lambda m: [(_x(4, 2),)],
        "Tool": lambda m: [(m.Tool(), _x(2))],
        "plus": lambda m: [(functools.partial(m.plus, y=1), _x(2))],
    },
    "idle": {
        "lists": lambda m: [(_x(2),)],
        "argument_in_a_cell": lambda m: [(_x(2), 3)],
        "changed_in_a_cell": lambda m: [(_x(2), 3)],
        "filled_and_emptied": lambda m: [(_x(2), m.Held())],
    },
    "uncommon": {
        "makes_a_module": lambda m: [(_x(2),)],
        "looks_a_frozenset_up": lambda m: [(_x(2),)],
        "empty_set_beside_a_graph_break": lambda m: [(_x(2),)],
        "returns_a_module_of_torch": lambda m: [(_x(2),)],
        "fills_a_dictionary_and_a_list": lambda m: [(_x(2),)],
        "calls_a_comprehension": lambda m: [(_x(2),)],
    },
    "graphs": {
        "indexed": lambda m: [(_x(3, 3), _x(3).long(), _x(3, 3) > 2)],
        "scaled": lambda m: [(_x(2), 3), (_x(2), 4)],
        "checkpointed": lambda m: [(_x(2).requires_grad_(),)],
        "written_to": lambda m: [(_x(3, 2),)],
        "hooked": lambda m: [(_x(2).requires_grad_(),)],
        "flipped": lambda m: [(_x(2, 3),)],
        "own_operator": lambda m: [(m.register_own_operator() and _x(2),)],
        "Net": lambda m: [(m.Net(), _x(2, 4))],
    },
    "weights": {"Scaled": lambda m: [(m.Scaled(), _x(2, 3), {"bias": _x(2)})]},
    "toy": {"toy_example": lambda m: [(_x(4) - 2, _x(4) - 3), (_x(4), _x(4))]},
    "effects": {"Model": lambda m: [(m.Model(), _x(2, 4))], "draws": lambda m: [(_x(2),)]},
}
"""Of each file: functions with the arguments of their calls; what is made comes first in them."""


def _module(path: Path) -> ModuleType:
    name = path.parent.name if path.stem == "__init__" else path.stem
    if name not in sys.modules:
        where = [str(path.parent)] if path.stem == "__init__" else None
        spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=where)
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


_CHOSEN = re.compile('^BACKEND = "(inductor|aot_eager)"', re.MULTILINE)
_ONE_RANK = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}


def _of_gallery(file: Path, backend: str) -> object:
    text = file.read_text(encoding="utf-8")
    if backend:
        text = _CHOSEN.sub(f"BACKEND = {backend!r}", text)
    job = _ONE_RANK if "RANKS = " in text else {}
    with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(os.environ, job):
        program = Path(folder) / "program.py"
        program.write_text(text, encoding="utf-8")
        sys.modules.pop("program", None)
        return _module(program).main()


def _script(file: Path, backend: str) -> object:
    sys.path.insert(0, str(file.parent))
    sys.argv = [str(file)]
    return runpy.run_path(str(file), run_name="__main__")


def _door(run: Callable[[str], object], backend: str) -> object:
    return run(backend or "inductor")


def _asked(run: Callable[[], object], backend: str) -> object:
    return run()


def _parting(fault: Any, backend: str) -> object:
    with fault.inside():
        return _call(fault.make(), [fault.args()], backend, **fault.compiled)


def _effects(backend: str) -> object:
    run = _module(PROGRAMS / "effects.py").run
    return run(lambda name: contextlib.nullcontext(), backend or "inductor")


def _one_call(make: Callable[[], Tuple[Any, Any]]) -> Tuple[Any, Any]:
    model, arguments = make()
    return model, [arguments]


def _made(make: Callable[[], Tuple[Any, Any]], backend: str) -> object:
    function, calls = make()
    return _call(function, calls, backend)


def _named(module: ModuleType, name: str, arguments: Any, backend: str) -> object:
    results = []
    for given in arguments(module):
        made = callable(given[0])
        function = given[0] if made else getattr(module, name)
        results.append(_call(function, [given[1:] if made else given], backend))
    return results


def _call(function: Any, calls: Any, backend: str, **options: Any) -> object:
    """Compile a function and call it, with a backward pass where there is one."""
    import torch

    kept = []
    compiled = torch.compile(function, backend=backend or "inductor", **options)
    for arguments in calls:
        result = compiled(*arguments)
        kept.append((compiled, result))
        first = result[0] if isinstance(result, tuple) and result else result
        if isinstance(first, torch.Tensor) and first.requires_grad:
            first.sum().backward()
    return kept


__all__ = ["Program", "cases", "doors", "every_program", "gallery", "scripts"]
