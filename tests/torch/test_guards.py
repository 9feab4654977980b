"""Guards of dumped files against torch's own guard managers, in the process that was captured."""

import gc
import importlib.util
import json
import random
import subprocess
import sys
import weakref

import pytest
from pellucid.torch import prepare_debug
from pellucid.torch.taps import hooks
from support import PROGRAMS, run_env, warm_python


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def guarded(program, dynamo):
    return program("guarded")


@pytest.fixture(scope="module")
def check_guards():
    return importlib.import_module("check_guards")


def test_guards_decide_and_name_failures_as_torch_does(guarded, check_guards, torch):
    table, rng = check_guards.Table(), random.Random(3)
    for name, make in guarded.PROGRAMS.items():
        check_guards.compare((name, make), 150, rng, table)
    assert table.different == [] and table.unreached == 0, table.show()
    assert table.programs == len(guarded.PROGRAMS) and table.calls > 700 and table.held > 100
    # Torch 2.4 has fewer kinds; the newest that this was written for has two dozen.
    assert len([kind for kind in table.kinds if table.kinds[kind]]) >= 12, table.show()


def compiled_file(function, arguments, directory, torch, name):
    with prepare_debug(directory) as session:
        compiled = torch.compile(function, backend="eager", dynamic=False)
        for call in arguments:
            compiled(*call)
    (path,) = directory.glob(f"full_code_for_{name}_0*.py")
    return path, session


def test_the_imported_file_chooses_among_versions_as_torch_does(guarded, torch, tmp_path):
    calls = [(torch.ones(2),), (torch.ones(3),)]
    path, _ = compiled_file(guarded.sized, calls, tmp_path, torch, "sized")
    module = load(path)
    assert [guards for guards in vars(module) if guards.startswith("guards_")] == [
        "guards_0_1",
        "guards_0_0",
    ] or sys.version_info < (3, 9)
    scope = vars(guarded)
    assert module.guards_0_0({"x": torch.zeros(2)}, scope)
    assert not module.guards_0_1({"x": torch.zeros(2)}, scope)
    assert module.guards_0_1({"x": torch.zeros(3)}, scope)
    assert module.sized(torch.ones(2)).tolist() == [2.0, 2.0]
    assert module.sized(torch.ones(3)).tolist() == [3.0, 3.0, 3.0]
    # No version fits; the program's own function runs, and nothing is compiled for it.
    assert module.sized(torch.ones(4)).tolist() == [4.0] * 4
    assert len(hooks.cache_entries(guarded.sized.__code__)) == 2


def test_a_failure_names_its_guard_value_and_line(guarded, torch, tmp_path):
    path, _ = compiled_file(guarded.sized, [(torch.ones(2),)], tmp_path, torch, "sized")
    guards, scope = load(path).guards_0_0, vars(guarded)
    failure = guards.failing({"x": torch.ones(3)}, scope)
    assert (failure.kind, failure.source) == ("TENSOR_MATCH", "L['x']")
    assert "yield TENSOR_MATCH(x, " in path.read_text().splitlines()[failure.line - 1]
    failure = guards.failing({}, scope)
    assert (failure.kind, failure.source) == ("", "L['x']") and "KeyError" in failure.reason
    assert guards.failing({"x": torch.ones(2)}, scope) is None
    with torch.no_grad():
        assert guards.failing({"x": torch.ones(2)}, scope).kind == "GLOBAL_STATE"


def test_asking_the_guards_is_not_seen_by_modes_and_changes_nothing(guarded, torch, tmp_path):
    path, _ = compiled_file(guarded.sized, [(torch.ones(2),)], tmp_path, torch, "sized")
    guards, scope = load(path).guards_0_0, vars(guarded)
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            seen.append(function)
            return function(*args, **(kwargs or {}))

    (entry,) = hooks.cache_entries(guarded.sized.__code__)
    with Mode():
        wanted = entry.guard_manager.root.check({"x": guarded.ONES})
        seen.clear()
        assert guards({"x": guarded.ONES}, scope) == wanted
    assert seen == []
    assert entry.guard_manager.root.check({"x": torch.ones(2)})


def test_nothing_of_the_program_is_kept_alive(guarded, dynamo, torch, tmp_path):
    thing = guarded.Thing()
    call = (torch.ones(2), thing)
    path, session = compiled_file(guarded.uses_thing, [call], tmp_path, torch, "uses_thing")
    module = load(path)
    scope = vars(guarded)
    assert module.guards_0_0({"x": torch.ones(2), "thing": thing}, scope)
    gone = weakref.ref(thing)
    del thing, call
    dynamo.reset()
    gc.collect()
    assert gone() is None
    # Torch has forgotten the version: from here on the file goes by what it says.
    assert session.functions.cache(0)[0].kept[0] is None
    assert module.guards_0_0({"x": torch.ones(2), "thing": guarded.Thing()}, scope)


def test_the_file_runs_by_itself_in_another_process(guarded, torch, tmp_path, valid_python):
    calls = [(torch.ones(2), guarded.Thing())]
    path, _ = compiled_file(guarded.uses_thing, calls, tmp_path, torch, "uses_thing")
    assert valid_python(tmp_path) == []
    script = (
        "import importlib.util, json, sys, torch\n"
        "def load(name, path):\n"
        "    spec = importlib.util.spec_from_file_location(name, path)\n"
        "    module = importlib.util.module_from_spec(spec)\n"
        "    spec.loader.exec_module(module)\n"
        "    return module\n"
        "full = load('full', sys.argv[1])\n"
        "guarded = load('program_guarded', sys.argv[2])\n"
        "torch.set_num_threads(1)\n"
        "scope, x = vars(guarded), torch.ones(2)\n"
        "thing = guarded.Thing()\n"
        "told = [str(full.guards_0_0.failing({'x': x, 'thing': thing}, scope))]\n"
        "told += [full.guards_0_0({'x': torch.ones(3), 'thing': thing}, scope)]\n"
        "thing.factor = 3\n"
        "told += [full.guards_0_0({'x': x, 'thing': thing}, scope)]\n"
        "print(json.dumps(told))\n"
    )
    done = subprocess.run(
        [warm_python(), "-c", script, str(path), str(PROGRAMS / "guarded.py")],
        env=run_env(),
        check=True,
        timeout=300,
        stdout=subprocess.PIPE,
    )
    held, other_size, other_factor = json.loads(done.stdout)
    assert not other_size and not other_factor
    assert held == "None"


def test_no_address_stands_in_the_files(guarded, torch, tmp_path):
    calls = [(torch.ones(2), guarded.Thing())]
    path, session = compiled_file(guarded.uses_thing, calls, tmp_path, torch, "uses_thing")
    (entry,) = hooks.cache_entries(guarded.uses_thing.__code__)
    ids = {str(id(type(calls[0][1]))), str(id(calls[0][1])), str(id(torch.Tensor))}
    assert not [one for one in ids if one in path.read_text()]
    assert "at 0x" not in path.read_text()
    assert entry.guard_manager is not None and session.functions.cache(0)[0].kept is not None


def test_a_file_runs_by_itself_with_its_graphs_and_where_it_resumes(guarded, torch, tmp_path):
    calls = [(torch.ones(2), torch.ones(2))]
    path, _ = compiled_file(guarded.of_two, calls, tmp_path, torch, "of_two")
    script = (
        "import importlib.util, sys, torch\n"
        "torch.set_num_threads(1)\n"
        "spec = importlib.util.spec_from_file_location('full', sys.argv[1])\n"
        "full = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(full)\n"
        "x, y = torch.arange(2.0), torch.ones(2) * 3\n"
        "failing = full.guards_0_0.failing({'x': x, 'y': y}, vars(full))\n"
        "assert failing is None, failing\n"
        "print(full.of_two(x, y).tolist())\n"
        "print(sorted(full.resumed.__globals__['_LOADED']))\n"
    )
    done = subprocess.run(
        [warm_python(), "-c", script, str(path)],
        env=run_env(),
        check=True,
        timeout=300,
        stdout=subprocess.PIPE,
        text=True,
    )
    result, loaded = done.stdout.splitlines()
    assert result == "[3.0, 6.0]"
    assert "__compiled_fn_0_0.captured.py" in loaded and "_resume_in_of_two" in loaded


def test_a_module_is_imported_that_its_package_hides(torch, dynamo, tmp_path, monkeypatch):
    package = tmp_path / "hiding"
    package.mkdir()
    (package / "layer.py").write_text(
        "def doubled(x):\n    return x * 2\ndef layer(x):\n    return doubled(x)\n"
    )
    (package / "__init__.py").write_text("from .layer import layer\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("pellucid.torch.text.full_code_names.is_installed", lambda file: True)
    hiding = importlib.import_module("hiding")
    module = sys.modules["hiding.layer"]
    assert hiding.layer is not module

    def calls(x):
        return hiding.layer(x)

    path, _ = compiled_file(calls, [(torch.ones(2),)], tmp_path / "out", torch, "calls")
    assert getattr(load(path), "__import_hiding_dot_layer") is module


def test_what_only_the_program_has_is_told(guarded, torch, tmp_path):
    path, _ = compiled_file(guarded.of_globals, [(torch.ones(2),)], tmp_path, torch, "of_globals")
    assert "# Defined only in the program: NAN, SCALES, TABLE" in path.read_text()


def test_a_number_that_is_not_finite_is_changed_too(torch):
    from guard_perturb import other_values

    for number in (float("inf"), float("nan"), 2.5):
        assert any(type(value) is int for value in other_values(number, random.Random(0), []))
