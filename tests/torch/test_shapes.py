"""What a torch lacks costs one feature and one warning, and the rest of the capture is whole.

Each test hides one thing that pellucid relies on: from torch, or from where it is looked for.
"""

import ast
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from pellucid.dump.model.events import Frame, Graph, GraphRun, Problem
from pellucid.torch import find_nan, prepare_debug
from pellucid.torch.api import watch
from pellucid.torch.capture import connection, records
from pellucid.torch.taps import (
    fx_meta,
    graph_hooks,
    guard_tree,
    guard_ways,
    hooks,
    inductor,
    interpreted,
    now,
    outcomes,
    shapes,
    trace,
)
from support import torch_version


class Hiding:
    """Ways to hide something from pellucid, undone when the test ends."""

    def __init__(self, monkeypatch, torch):
        self.patch, self.torch = monkeypatch, torch

    def found(self, name, value):
        """Let what the table finds be something else."""
        hooks.PROBE.get(name)
        self.patch.setitem(hooks.PROBE._found, name, value)

    def checked(self, name):
        """Let the check of a row say no."""
        row = replace(shapes.BY_NAME[name], check=lambda: False)
        self.patch.setattr(shapes, "BY_NAME", {**shapes.BY_NAME, name: row})

    def managers(self, make):
        """Let the guard managers of cache entries be others."""
        entries = hooks.cache_entries

        def changed(code):
            return [replace(raw, guard_manager=make(raw.guard_manager)) for raw in entries(code)]

        self.patch.setattr(hooks, "cache_entries", changed)


class Other:
    """A guard manager with only some of the attributes of another."""

    def __init__(self, **kept):
        vars(self).update(kept)


def emitter_local(hide):
    for kind in shapes.EMITTER_LOCAL:
        hide.patch.setitem(shapes.EMITTER_LOCAL, kind, "renamed")


def start(hide):
    read = records.on_record

    def changed(session, record, runs):
        return read(
            session, replace(record, data={}) if record.kind == "dynamo_start" else record, runs
        )

    hide.patch.setattr(connection, "on_record", changed)


def hook_handle(hide):
    register = hooks.PROBE.get("bytecode_hook")
    handles = []

    def changed(hook):
        handles.append(register(hook))
        return object()

    hide.found("bytecode_hook", changed)
    return lambda: [handle.remove() for handle in handles]


class Renumbered:
    """A cache of resume functions whose keys are no offsets."""

    def __contains__(self, code):
        return True

    def __getitem__(self, code):
        return {("renamed",): code}


def check_verbose(hide):
    hide.managers(
        lambda m: Other(root=Root(m.root), global_scope=m.global_scope, cache_entry=m.cache_entry)
    )


class Root:
    """A root guard manager without the method that says what failed."""

    def __init__(self, root):
        for name in (*guard_tree._NEEDED, "get_epilogue_lambda_guards"):
            setattr(self, name, getattr(root, name))


HIDDEN = {
    "graph of a trace event": emitter_local,
    "place where a compile starts": start,
    "options of Inductor": lambda h: h.patch.setattr(graph_hooks, "OPTIONS_OF_INDUCTOR", ("no",)),
    "origins of a program's buffers": lambda h: h.patch.setattr(
        inductor, "TABLES_OF_SCHEDULER", ("no", "neither", "nor")
    ),
    "arguments of a trace event": lambda h: h.patch.setattr(trace, "TRACE_CALL", ("no",)),
    "fields of a compile id": lambda h: h.found("compile_context", object()),
    "class of a graph": lambda h: h.patch.setattr(shapes, "GRAPH_CLASS", "Renamed"),
    "lazy graph": lambda h: h.patch.setattr(graph_hooks, "LAZY_METHODS", ("no", "neither")),
    "values of a graph's inputs": lambda h: [
        h.patch.setattr(module, "VALUE_KEYS", ("no",)) for module in (graph_hooks, fx_meta)
    ],
    "modules of a graph's operations": lambda h: h.checked("modules of a graph's operations"),
    "formatted graphs": lambda h: h.found("format_graph", Other()),
    "modules of Inductor": lambda h: h.found("inductor_modules", Other()),
    "cache entry": lambda h: h.found("cache_entries", lambda code: [Other(code=code)]),
    "guard manager of a cache entry": lambda h: h.managers(lambda m: Other(root=m.root)),
    "tree of guards": lambda h: h.managers(
        lambda m: Other(root=Other(), global_scope={}, cache_entry=m)
    ),
    "guards as they are made": lambda h: h.patch.setattr(guard_ways, "GUARDS_MADE", ("No",)),
    "check that says what failed": check_verbose,
    "offsets of resume functions": lambda h: h.found("resume_functions", Renumbered()),
    "handle of a hook": hook_handle,
    "defaults of settings": lambda h: h.found("dynamo_settings", lambda: "a = 1"),
}
# What only Inductor has. The other rows are tested with a backend that needs no compiler of C++.
OF_INDUCTOR = (
    "options of Inductor",
    "origins of a program's buffers",
    "modules of Inductor",
    "formatted graphs",
)


@pytest.mark.parametrize("name", HIDDEN)
def test_what_is_hidden_costs_one_warning(name, program, torch, dynamo, tmp_path, monkeypatch):
    import torch._inductor.config as inductor_config

    several = program("several")
    backend = "inductor" if name in OF_INDUCTOR else "aot_eager"
    clean_up = HIDDEN[name](Hiding(monkeypatch, torch))
    inputs = torch.full((3,), 2.0, requires_grad=True)
    with pytest.warns(RuntimeWarning) as warned, prepare_debug(tmp_path) as session:
        # From a cache comes less, and so less is looked for.
        with inductor_config.patch(force_disable_caches=True):
            result = torch.compile(several.plain, backend=backend)(inputs)
            result.sum().backward()
        broken = torch.compile(several.closes(torch.ones(3)), backend="eager")(torch.ones(3))
    if callable(clean_up):
        clean_up()
    # The program has what it has without us.
    assert torch.allclose(result, inputs.sin() + 1)
    assert torch.allclose(inputs.grad, inputs.cos())
    assert broken.tolist() == [2.0, 2.0, 2.0]
    # One problem and one warning, which is of this row and says what is lost.
    (problem,) = session.of(Problem)
    row = shapes.BY_NAME[name]
    assert problem.where == "this torch"
    assert problem.what == f"no {name} in the expected place: {row.lost}"
    (warning,) = [w for w in warned if "pellucid" in str(w.message)]
    assert name in str(warning.message)
    assert row.lost in (tmp_path / "index.md").read_text()
    # The rest is there: every frame with its code, every graph with its text.
    frames = session.of(Frame)
    assert [frame.place.function for frame in frames][:2] == ["plain", "inner"]
    assert all(frame.swapped for frame in frames)
    stages = {graph.stage for graph in session.of(Graph)}
    of_inductor = {"inductor_forward"} if backend == "inductor" else set()
    assert {"captured", "forward", "backward", *of_inductor} <= stages
    for graph in session.of(Graph):
        ast.parse(session.path(graph.file).read_text())
    for path in tmp_path.glob("*.py"):
        ast.parse(path.read_text())


def test_nothing_is_missed_where_all_is_there(program, torch, dynamo, tmp_path):
    several = program("several")
    with prepare_debug(tmp_path) as session:
        for backend in ("eager", "aot_eager", "inductor"):
            dynamo.reset()
            inputs = torch.ones(3, requires_grad=True)
            torch.compile(several.plain, backend=backend)(inputs).sum().backward()
    assert shapes.SHAPES.missing == ()
    assert session.of(Problem) == []


def test_each_capture_tells_of_its_own_time(program, torch, dynamo, tmp_path, monkeypatch):
    several = program("several")
    with monkeypatch.context() as hidden:
        hidden.setattr(shapes, "GRAPH_CLASS", "Renamed")
        with pytest.warns(RuntimeWarning), prepare_debug(tmp_path / "first") as first:
            torch.compile(several.plain, backend="eager")(torch.ones(2))
    dynamo.reset()
    with prepare_debug(tmp_path / "second") as second:
        torch.compile(several.plain, backend="eager")(torch.ones(2))
    assert len(first.of(Problem)) == 1 and second.of(Problem) == []
    assert not any(run.runs for run in first.of(GraphRun))
    assert all(run.runs for run in second.of(GraphRun))


def test_a_graph_from_a_cache_is_not_missed(program, torch, dynamo, tmp_path):
    several = program("several")
    for number in range(2):
        dynamo.reset()
        with prepare_debug(tmp_path / str(number)) as session:
            inputs = torch.ones(5, requires_grad=True)
            torch.compile(several.plain)(inputs).sum().backward()
        assert session.of(Problem) == []
        assert "forward" in {graph.stage for graph in session.of(Graph)}


@pytest.mark.parametrize(
    ("name", "hide"),
    [
        ("schema of an operator", lambda h: h.checked("schema of an operator")),
        ("line of a graph's operation", lambda h: h.patch.setattr(watch, "LINE_KEY", "no")),
        ("source of a graph's input", lambda h: h.patch.setattr(graph_hooks, "SOURCE_KEY", "no")),
        (
            "what torch.compile was called with",
            lambda h: h.checked("what torch.compile was called with"),
        ),
        (
            "calls with one list of inputs",
            lambda h: h.checked("calls with one list of inputs"),
        ),
    ],
)
def test_what_is_hidden_from_find_nan_costs_one_warning(
    name, hide, torch, dynamo, tmp_path, monkeypatch
):
    def root(x):
        return (x - 3).log() + 1

    hide(Hiding(monkeypatch, torch))
    with pytest.warns(RuntimeWarning, match=name), prepare_debug(tmp_path) as session:
        report = find_nan(root, torch.ones(2))
    assert report.first is not None and report.first.operation.startswith("aten.log")
    assert [problem.what.partition(" in the expected")[0] for problem in session.of(Problem)] == [
        f"no {name}"
    ]


# -- what only an older torch, or no torch of today, asks for ----------------------------------


@pytest.fixture
def missed():
    shapes.SHAPES.forget()
    yield lambda: [row.name for row in shapes.SHAPES.missing]
    shapes.SHAPES.forget()


def test_code_is_missed_where_no_compiler_is_at_work(missed):
    assert graph_hooks.code_being_compiled() is None
    assert missed() == ["code that is being compiled"]


def test_reasons_of_another_form_are_missed_and_the_others_taken(missed):
    reasons = []
    taken = hooks.BreakReasons(reasons)
    reasons += [SimpleNamespace(why="?"), SimpleNamespace(reason="because", user_stack=[])]
    with pytest.raises(IndexError):
        hooks._break_text(reasons[1])
    reasons[1].user_stack.append(SimpleNamespace(filename="a.py", lineno=3, name="f", line="x"))
    reasons[1].user_stack[:] = __import__("traceback").extract_stack(limit=1)
    (text,) = taken.take()
    assert "Graph Break Reason: because" in text
    assert missed() == ["reason of a graph break"]


def test_code_without_globals_is_missed(torch, missed):
    graph = torch.fx.Graph()
    graph.call_function(re.sub, ())
    module = SimpleNamespace(
        graph=SimpleNamespace(nodes=graph.nodes, python_code=lambda root: SimpleNamespace())
    )
    assert fx_meta._globals(module) == []
    assert missed() == ["globals of a graph"]


class Node:
    """A symbolic size's node that has its hint under another name."""

    guess = 3


def test_hint_of_another_name_is_told_by_the_check(monkeypatch, missed):
    assert graph_hooks.size_hint(SimpleNamespace(node=Node())) is None
    assert missed() == [], "the symbolic sizes of this torch have one"
    shapes.SHAPES.forget()
    Hiding(monkeypatch, None).checked("hint of a symbolic size")
    assert graph_hooks.size_hint(SimpleNamespace(node=Node())) is None
    assert missed() == ["hint of a symbolic size"]


class DictGuardManager:
    """What torch's tree of guards has for a dict, without the guards of its keys."""

    def get_accessors(self):
        return []

    get_child_managers = get_leaf_guards = get_accessors

    def is_tag_safe(self):
        return True


def test_tree_without_some_of_its_parts_is_read_for_the_others(missed):
    top, last = guard_tree.read_tree(DictGuardManager())
    assert top.leaves == top.children == last == []
    assert missed() == [
        "types of guarded values",
        "guards of a dict's keys",
        "guards that torch decides last",
    ]


def test_keys_of_modules_are_looked_for_in_torch_itself(torch, monkeypatch, missed):
    check = shapes.BY_NAME["modules of a graph's operations"].check
    assert check() is not False
    fields = [f for f in torch.fx.proxy._COPY_META_FIELDS if f != "nn_module_stack"]
    monkeypatch.setattr(torch.fx.proxy, "_COPY_META_FIELDS", fields)
    assert check() is False


def test_errors_are_told_without_what_says_who_saw_them(torch, dynamo, tmp_path, monkeypatch):
    monkeypatch.setattr(outcomes, "_ONE_GRAPH", "no")
    compiled = torch.compile(lambda x: x.view(7) + 1, backend="eager")
    told = pytest.warns(RuntimeWarning, match="outcome of a compile")
    with told, prepare_debug(tmp_path), pytest.raises(RuntimeError):
        compiled(torch.ones(3))
    assert "## Compiles that failed" in (tmp_path / "index.md").read_text()


def test_modules_are_compiled_without_what_has_their_hooks(torch, dynamo, tmp_path, monkeypatch):
    monkeypatch.setattr(outcomes, "HOOK_TABLES", ("no",))
    with pytest.warns(RuntimeWarning, match="hooks of a module"), prepare_debug(tmp_path):
        torch.compile(torch.nn.Linear(2, 2), backend="eager")(torch.ones(1, 2))


def test_a_tracer_without_a_line_is_told():
    shapes.SHAPES.forget()
    frame = SimpleNamespace(
        f_code=SimpleNamespace(co_name="run"), f_locals={"self": SimpleNamespace()}
    )
    assert now._traced(frame) is None
    assert [row.name for row in shapes.SHAPES.missing] == ["line that Dynamo traces"]
    shapes.SHAPES.forget()


def test_a_partitioner_without_its_lists_is_told(monkeypatch):
    shapes.SHAPES.forget()
    monkeypatch.setitem(hooks.PROBE._found, "operation_lists", SimpleNamespace)
    assert hooks.computed_again() is None
    assert [row.name for row in shapes.SHAPES.missing] == ["operations that are computed again"]
    shapes.SHAPES.forget()


def test_every_row_is_tested_here():
    text = Path(__file__).read_text(encoding="utf-8")
    tested = {*HIDDEN, *re.findall(r'"([a-z][\w\' .]+)"', text)}
    assert set(shapes.BY_NAME) <= tested


@pytest.mark.parametrize("row", shapes.TABLE, ids=lambda row: row.name)
def test_no_check_says_no_of_the_newest_torch(row, torch):
    import torch._inductor.compile_fx  # noqa: F401

    if torch_version() >= (2, 13):
        assert row.check() is not False


# -- what torch calls its functions with ----------------------------------------------------------


def test_arguments_that_are_not_known_go_on_to_torch(torch, monkeypatch):
    import torch.fx._utils as place

    seen = []

    def lazy_format_graph_code(name, gm, maybe_id=None, verbose=False, *rest, color=None, **more):
        return name, gm, maybe_id, verbose, rest, color, more

    monkeypatch.setattr(place, "lazy_format_graph_code", lazy_format_graph_code)
    hooks.PROBE.get("format_graph")
    monkeypatch.setitem(hooks.PROBE._found, "format_graph", lazy_format_graph_code)
    call = place.lazy_format_graph_code
    wanted = [
        call("n", 1),
        call("n", 1, 2, True, 4, 5, color="red", new=6),
        call(gm=1, name="n", verbose=True),
    ]
    remove = graph_hooks.add_formatted_graphs(lambda name, graph: seen.append((name, graph)))
    assert [
        call("n", 1),
        call("n", 1, 2, True, 4, 5, color="red", new=6),
        call(gm=1, name="n", verbose=True),
    ] == wanted
    assert seen == [("n", 1)] * 3
    with pytest.raises(TypeError, match="gm"):
        call("n")
    remove()
    assert call("n", 1) == wanted[0] and len(seen) == 3


def test_arguments_that_are_not_known_go_on_to_older_torch(torch, monkeypatch):
    def boxed_nop(fx_g, example_inputs, strict=False, *rest, **more):
        def run(args):
            return fx_g.boxed_run(args)

        return fx_g, example_inputs, strict, rest, more, run.__name__

    hooks.PROBE.get("aot_eager_compiler")
    monkeypatch.setitem(hooks.PROBE._found, "aot_eager_compiler", boxed_nop)
    wanted = boxed_nop(1, 2, True, 4, new=5)
    remove = interpreted.generate_interpreted_graphs(lambda graph: False)
    assert boxed_nop(1, 2, True, 4, new=5) == wanted
    assert boxed_nop.__kwdefaults__, "the code was in place"
    remove()
    assert boxed_nop(1, 2, True, 4, new=5) == wanted and not boxed_nop.__kwdefaults__
