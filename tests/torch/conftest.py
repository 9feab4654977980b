"""What the tests of the PyTorch side share: torch or a reason, a clean compiler, its counters."""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Dict, Iterator, List

import pytest
from needs import need
from support import PROGRAMS, compiles


@pytest.fixture(scope="session")
def torch(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """PyTorch, with compile caches of its own; without PyTorch the test is skipped, CI fails."""
    need("torch")
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(tmp_path_factory.mktemp("inductor"))
    import torch

    torch.set_num_threads(1)
    return torch


@pytest.fixture
def dynamo(torch: Any) -> Iterator[Any]:
    """torch._dynamo, as good as new before and after; random weights are the same in any order."""
    import torch._dynamo.utils

    torch.manual_seed(0)
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch._dynamo.utils.clear_compilation_metrics()
    yield torch._dynamo
    torch._dynamo.reset()


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Load a program of programs/ afresh, so that its functions have never been compiled."""

    def load(name: str) -> ModuleType:
        path = PROGRAMS / f"{name}.py"
        path = path if path.exists() else PROGRAMS / name / "__init__.py"
        spec = importlib.util.spec_from_file_location(f"program_{name}", path)
        assert spec is not None and spec.loader is not None
        for part in [part for part in sys.modules if part.startswith(f"{spec.name}.")]:
            monkeypatch.delitem(sys.modules, part)
        module = importlib.util.module_from_spec(spec)
        # Dynamo looks modules up by name, for the globals of what it inlines.
        monkeypatch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def observed(dynamo: Any) -> Callable[[], Dict[str, Any]]:
    """What torch itself counted since the test began."""

    def read() -> Dict[str, Any]:
        metrics = dynamo.utils.get_compilation_metrics()
        # Older releases tell of backward passes in records of another kind.
        of_frames = [m for m in metrics if getattr(m, "co_name", None) is not None]
        compiles = [(m.co_name, m.cache_size) for m in of_frames]
        counters = dynamo.utils.counters
        return {
            "graph breaks": dict(counters["graph_break"]),
            "frames": dict(counters["frames"]),
            "graphs": counters["stats"].get("unique_graphs"),
            "compiles": compiles,
            "recompiles": sum(bool(size) for _, size in compiles),
        }

    return read


@pytest.fixture
def valid_python() -> Callable[[Path], List[str]]:
    """The complaints about a dump's .py files."""
    return lambda directory: [c for c in map(compiles, sorted(directory.glob("*.py"))) if c]
