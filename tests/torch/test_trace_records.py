"""What torch's trace says beside graphs and frames: each record is an event, a file and a line."""

import hashlib
import json

import pellucid
import pytest
from pellucid.dump.model.events import (
    AutogradCompile,
    BackwardFailure,
    CacheUse,
    Graph,
    MinCut,
    Problem,
    RankMismatch,
    SideEffect,
    Wrappers,
)
from pellucid.dump.model.traced import DROPPED, GRAPH, KINDS, LOG, STAGE, TAKEN
from pellucid.findings.find import find
from pellucid.report import page_of
from pellucid.report.model import rest_of
from pellucid.torch import prepare_debug
from pellucid.torch.capture.records import TAKERS
from support import torch_version

PREFIX = "V0102 03:04:05.000000 1 torch/_logging/structured.py:28] "
ID = {"frame_id": 0, "frame_compile_id": 0, "attempt": 0}


def imported(tmp_path, *artifacts):
    """The capture of a log of artifacts: each a name, its payload and more of its record."""
    start = {"dynamo_start": {"stack": [{"line": 3, "name": "step", "filename": "/u/toy.py"}]}}
    lines = [PREFIX + json.dumps({**start, **ID})]
    for name, payload, *more in artifacts:
        record = {"artifact": {"name": name, "encoding": "string"}, **ID}
        lines.append(PREFIX + json.dumps({**record, **(more[0] if more else {})}))
        text = payload if isinstance(payload, str) else json.dumps(payload)
        lines += [f"\t{line}" for line in text.split("\n")]
    path = tmp_path / "made.log"
    path.write_text("\n".join(lines) + "\n")
    pellucid.import_log(path, tmp_path / "made")
    capture = pellucid.load(tmp_path / "made")
    assert capture.of(Problem) == []
    return capture


def index(capture):
    return capture.text("index.md")


# -- the table -------------------------------------------------------------------------------------


def test_each_row_of_the_table_has_what_its_word_asks_for():
    taken = {fate.what for fate in KINDS.values() if fate.of == TAKEN}
    assert taken == {*TAKERS, "started", "program"}
    for kind, (of, what) in KINDS.items():
        assert of in (STAGE, GRAPH, TAKEN, LOG, DROPPED)
        assert bool(what) == (of in (STAGE, TAKEN, DROPPED)), kind


# -- the functions around the graphs ---------------------------------------------------------------


def test_what_aot_autograd_runs_around_a_graph_is_a_file(torch, dynamo, tmp_path, valid_python):
    if torch_version() < (2, 13):
        pytest.skip("this torch does not generate them as source")

    def changed(x):
        x.add_(1)
        return x.view(-1), x.sin()

    with prepare_debug(tmp_path) as session:
        torch.compile(changed, backend="aot_eager")(torch.ones(3))
    (event,) = session.of(Wrappers)
    assert event.file == "__compiled_fn_0_0.runtime_wrappers.py"
    text = session.path(event.file).read_text()
    assert "def _runtime_wrapper(" in text and "gen_alias_from_base(orig_inputs[0]" in text
    assert valid_python(tmp_path) == [] and session.of(Problem) == []
    assert f"[`{event.file}`]({event.file}): AOTAutograd's code" in index(pellucid.load(tmp_path))
    assert not any("wrapper" in graph.stage for graph in session.of(Graph))
    (view,) = page_of([tmp_path]).views
    assert view.files.number[event.file] in view.functions[0].versions[0].graphs


def test_one_record_of_all_functions_is_read_like_one_of_each(tmp_path):
    one, two = "def _alias_fn(outs):\n    return outs", "def _runtime_wrapper(args):\n    pass"
    both = f"# output_alias_wrapper\n{one}\n\n# runtime_wrapper_orchestration\n{two}"
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
    new = imported(tmp_path / "new", ("aot_autograd_runtime_wrappers", both))
    old = imported(
        tmp_path / "old",
        ("output_alias_wrapper", one),
        ("runtime_wrapper_orchestration", two),
        ("runtime_wrapper_orchestration", two),
    )
    (event,) = new.of(Wrappers)
    assert old.of(Wrappers) == [event] and new.text(event.file) == old.text(event.file)
    assert new.text(event.file).count("def ") == 2


def test_an_attempt_that_starts_over_generates_them_anew(tmp_path):
    first = ("runtime_wrapper_orchestration", "def _runtime_wrapper(a): return 1")
    second = ("runtime_wrapper_orchestration", "def _runtime_wrapper(a): return 2", {"attempt": 1})
    capture = imported(tmp_path, first, second)
    text = capture.text(capture.of(Wrappers)[0].file)
    assert "return 2" in text and "return 1" not in text


# -- side effects, compiled autograd, memory budget ------------------------------------------------

seen = []


def test_what_compiled_code_changes_is_told_with_its_line(torch, dynamo, tmp_path):
    if torch_version() < (2, 11):
        pytest.skip("this torch does not tell")

    def remembers(x):
        seen.append(1)
        return x + 1

    with prepare_debug(tmp_path) as session:
        torch.compile(remembers, backend="eager")(torch.ones(3))
    (effect,) = session.of(SideEffect)
    assert (effect.type, effect.source) == ("list", "G['seen']")
    assert effect.place.file == __file__
    assert effect.place.line == remembers.__code__.co_firstlineno + 1
    line = f"- [0/0] `G['seen']`, of type `list` at `{effect.place}`"
    assert line in index(pellucid.load(tmp_path))
    (view,) = page_of([tmp_path]).views
    rows = {name: rows for name, _, rows in rest_of(view)["tables"]}
    assert rows["Side effects"] == [["0/0", "G['seen']", "list", str(effect.place)]]


def test_why_compiled_autograd_compiled_is_told(tmp_path):
    why = "Cache miss due to new autograd node: torch::autograd::GraphRoot (NodeCall 0)"
    capture = imported(tmp_path, ("compiled_autograd_compile_reasons", [why]))
    (event,) = capture.of(AutogradCompile)
    assert event.reasons == (why,)
    heading = "## Why compiled autograd compiled a backward pass"
    assert f"{heading}\n\n- [0/0] {why}\n" in index(capture)


def test_what_a_memory_budget_saves_is_told(torch, dynamo, tmp_path, monkeypatch):
    if torch_version() < (2, 13):
        pytest.skip("this torch does not tell")
    partitioners = pytest.importorskip("torch._functorch.partitioners")
    monkeypatch.setattr(partitioners, "AOT_PARTITIONER_DEBUG", True)

    def deep(x, y):
        for _ in range(4):
            x = (x @ y).sin().cos()
        return x

    budget = torch._functorch.config.patch(activation_memory_budget=0.3)
    with prepare_debug(tmp_path) as session, budget:
        compiled = torch.compile(deep, backend="aot_eager_decomp_partition")
        compiled(torch.ones(64, 64, requires_grad=True), torch.ones(64, 64)).sum().backward()
    (event,) = session.of(MinCut)
    assert event.budget == 0.3 and "primals_2" in event.saved and event.recomputed
    joint = {node.name for graph in session.of(Graph) for node in session.nodes[graph.file]}
    assert {*event.saved, *event.recomputed} <= joint
    assert "## Memory budget of the backward pass" in index(pellucid.load(tmp_path))


def test_what_a_memory_budget_recomputes_is_told_by_name(tmp_path):
    told = {
        "Recomputable Banned Nodes Order": ["sin", "mm", "cos"],
        "Knapsack Recomputed Nodes": [0, 2],
        "Min Cut Solution Saved Values": ["primals_1", "mm"],
        "Memory Budget": 0.5,
        "Min Activation Size (GB)": 0.25,
        "Max Activation Size (GB)": 1.0,
        "Saved Values Activation Size (GB)": 0.5,
    }
    capture = imported(tmp_path, ("min_cut_information", told))
    (event,) = capture.of(MinCut)
    assert event.saved == ("primals_1", "mm") and event.recomputed == ("sin", "cos")
    line = "budget 0.5: 2 nodes saved, 0.5 GB (at least 0.25, at most 1); recomputed: `sin`, `cos`"
    assert line in index(capture)


# -- what is wrong ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, payload, cache, reason",
    [
        (
            "precompile_cache_bypass",
            {"_reason": "Guard evaluation failed: no"},
            "dynamo_cache",
            "Guard evaluation failed: no",
        ),
        (
            "dynamo_cache_bypass",
            {"entry": {"fn_name": "step"}, "missing_backend": "__compiled_fn_1"},
            "dynamo_cache",
            "the compiled graph __compiled_fn_1 of step was not saved",
        ),
        ("dynamo_cache_exception", {"key": "k", "error": "broken"}, "dynamo_cache", "broken"),
        (
            "aotautograd_cache_pickle_failure",
            {"error": "cannot pickle", "field": "compiled_fw"},
            "aotautograd_cache",
            "cannot pickle (in its field compiled_fw)",
        ),
    ],
)
def test_what_could_not_be_saved_in_a_cache_is_found_with_its_reason(
    tmp_path, name, payload, cache, reason
):
    capture = imported(tmp_path, (name, payload))
    (use,) = capture.of(CacheUse)
    assert (use.cache, use.result, use.reason) == (cache, "unsaved", reason)
    (finding,) = (f for f in find(capture) if f.kind == "cache")
    assert reason in finding.cause and f"{cache.replace('_', ' ')}: unsaved: {reason}" in index(
        capture
    )


REPORT = """\
================================================================================
SPMD GRAPH MISMATCH — rank 0, world_size=2
================================================================================
NODE COUNTS PER RANK:
  rank 0: 3 call_function nodes
  rank 1: 3 call_function nodes

DIFFS rank 0 vs rank 1:
  node 1:
    rank 0: aten.sin.default meta=a
    rank 1: aten.cos.default meta=a
================================================================================"""


def test_graphs_that_differ_between_ranks_are_found(tmp_path):
    capture = imported(tmp_path, ("inductor_spmd_graph_mismatch", REPORT))
    (event,) = capture.of(RankMismatch)
    (finding,) = (f for f in find(capture) if f.kind == "ranks")
    assert "node 1 is aten.sin.default on rank 0, aten.cos.default on rank 1" in finding.cause
    assert finding.quoted == event.text and "rank 1: aten.cos" in index(capture)


def test_a_backward_graph_that_failed_to_compile_early_is_found(tmp_path):
    text = (
        'Traceback (most recent call last):\n  File "/t/x.py", line 1, in f\n    g()\nKeyError: 3'
    )
    capture = imported(tmp_path, ("eager_compile_backwards_failure", text))
    (event,) = capture.of(BackwardFailure)
    assert event.reason == "KeyError: 3"
    (finding,) = (f for f in find(capture) if f.kind == "failed")
    assert "the backward graph failed to compile: KeyError: 3" in finding.cause
    assert "the backward graph, compiled early: KeyError: 3" in index(capture)


def test_records_that_say_nothing_are_no_trouble(tmp_path):
    names = ("min_cut_information", "dynamo_side_effects", "compiled_autograd_compile_reasons")
    more = ("precompile_cache_bypass", "runtime_wrapper_orchestration", "dynamo_cache_bypass")
    last = ("inductor_spmd_graph_mismatch", "eager_compile_backwards_failure")
    for payload in ("", "[]", "{}", "null", '{"entry": 3, "missing_backend": 3}'):
        folder = tmp_path / f"{len(payload)}{payload[:1]}x"
        folder.mkdir()
        find(imported(folder, *((name, payload) for name in (*names, *more, *last))))


def test_the_code_of_a_package_is_a_file_in_its_own_language(tmp_path):
    dump = {
        "graph_dump": {"name": "inductor_aot_wrapper_code", "type": "cpp", "filename": "/t/w.cpp"}
    }
    record = {**dump, **ID, "has_payload": hashlib.md5(b"int x;").hexdigest()}
    start = {
        "dynamo_start": {"stack": [{"line": 3, "name": "step", "filename": "/u/toy.py"}]},
        **ID,
    }
    path = tmp_path / "made.log"
    lines = [PREFIX + json.dumps(start), PREFIX + json.dumps(record), "\tint x;", ""]
    path.write_text("\n".join(lines))
    pellucid.import_log(path, tmp_path / "made")
    capture = pellucid.load(tmp_path / "made")
    text = capture.text("__compiled_fn_0_0.inductor_aot_wrapper_code.cpp")
    assert text.startswith("// compile [0/0]") and text.endswith("\nint x;\n")
    assert "the C++ that AOTInductor wrote for a package" in index(capture)
