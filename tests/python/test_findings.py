"""The causes of findings, each on events as a capture has them."""

import dataclasses
import doctest
import importlib
import json
import re
import sys

import pytest
from made_captures import (
    FILE,
    KEY,
    SIZE,
    broken,
    capture,
    entries,
    frame,
    graphs,
    only,
    recompiled,
    tensor_guard,
    timed,
)
from pellucid import terminal
from pellucid.dump.model.events import (
    CacheUse,
    CompileKey,
    Graph,
    Guard,
    LateHook,
    Metrics,
    NonFinite,
    Passed,
    Place,
    Skipped,
    Source,
    Span,
    Stance,
    Times,
    Uncalled,
    Values,
)
from pellucid.dump.model.failures import failures_of, is_own, limit_in
from pellucid.dump.model.nodes import Node
from pellucid.dump.store.load import load_all
from pellucid.errors import NotADump
from pellucid.findings import count_line, find, find_all
from pellucid.findings.text import as_json, explanation
from pellucid.torch.commands import STYLES


def test_a_branch_on_a_random_number_is_not_one_on_a_tensor():
    """PyTorch 2.15 makes the number an input of the graph, and names the inputs of a branch."""
    inputs = "random_value_0: graph input (random_value_0) lt = lt(random_value_0, 0.3)"
    found = only([frame(), broken(6, "Data-dependent branching", f"Detected it: {inputs}")])
    assert "random numbers" in found.cause and "pass its result in" in found.remedy
    inputs = f"l_x_: graph input (L['x']) {inputs}"
    found = only([frame(), broken(6, "Data-dependent branching", f"Detected it: {inputs}")])
    assert "tensor's values" in found.cause


def test_a_manager_that_is_not_traced_and_the_call_that_creates_it_are_one_cause():
    kind = "Attempted to inline function marked as skipped"
    reason = "marked that the function `_patch.__enter__` should not be traced."
    events = [frame(), broken(6, "Unsupported method call"), broken(6, kind, reason, id="1/0")]
    found = only(events)
    assert "cannot enter the context manager `_patch`" in found.cause
    assert found.remedy.startswith("enter it outside") and len(found.keys) == 2


def test_a_branch_that_gives_one_name_one_of_two_values_is_written_with_where():
    found = only([frame(), broken(6, "Data-dependent branching", "Detected it")])
    assert (found.kind, found.place, found.sure) == ("break", Place(FILE, 6, "step"), "likely")
    assert "a tensor's values" in found.cause and found.code == "if y.sum() > 0:"
    assert "+    y = torch.where(y.sum() > 0, y + 1, y - 1)" in found.diff.splitlines()
    assert found.diff.count("\n-    ") == 4


def test_no_rewriting_is_made_up_where_the_branch_does_more():
    found = only([frame(), broken(25, "Data-dependent branching")])
    assert found.diff == "" and "fixed number of steps" in found.remedy
    found = only([frame(), broken(18, "Data-dependent branching")])
    assert found.diff == "" and "torch.where" in found.remedy


def test_an_assert_of_a_value_is_written_as_one_of_the_graph():
    found = only([frame(), broken(27, "Data-dependent assertion failed")])
    assert '+    torch._assert(x.min() > 0, "small")' in found.diff


def test_the_same_break_is_told_once_with_its_compiles():
    events = [
        broken(10, "Failed to trace builtin operator", "`print`", "builtin print []", f"{n}/0")
        for n in range(3)
    ]
    found = only([frame(), *events])
    assert (found.count, found.keys) == (1, ("0/0", "1/0", "2/0"))
    assert "reorderable_logging_functions.add(print)" in found.diff


def test_an_unknown_break_is_told_in_torchs_words_without_a_remedy():
    found = only([frame(), broken(10, "Some new thing", "It is not known yet.")])
    assert (found.sure, found.remedy, found.diff) == ("unknown", "", "")
    assert "It is not known yet." in found.cause and "Some new thing" in found.quoted


def test_a_frame_that_was_given_up_is_said_with_its_break():
    again = (
        "\n*** While handling this graph break, another graph break occurred: ***\n\n"
        "graph break in loop\n  Explanation: no.\n"
    )
    stop = broken(10, "Failed to trace builtin operator", "`print`", "builtin print []", more=again)
    found = only([stop, Skipped(KEY, Place(FILE, 4, "step"), "Unsupported", "x")])
    assert "in a loop, so all of `step` runs uncompiled" in found.cause


def test_a_size_is_tried_on_the_guards_before_that_is_said():
    made, nodes = graphs("mul", "mul")
    shape = Guard("LAMBDA_GUARD", "2 <= L['x'].size()[0]", "", None)
    caches = entries((tensor_guard(2),), (tensor_guard("None"), shape))
    events = [frame(), frame("0/1"), recompiled(SIZE), *made]
    found = only(events, caches=caches, nodes=nodes)
    assert (found.kind, found.sure) == ("recompile", "tried")
    assert "`x.size(0)` changed from 2 to 5" in found.cause and "mark_dynamic(x, 0)" in found.remedy
    assert "0/0 and 0/1 have no other difference" in found.remedy


@pytest.mark.parametrize("other", ["guard", "graph", "shape", "no entry"])
def test_nothing_is_called_tried_where_the_versions_differ_in_more(other):
    made, nodes = graphs("mul", "add" if other == "graph" else "mul")
    more = (Guard("EQUALS_MATCH", "L['n'] == 3", "", None, "L['n']"),) if other == "guard" else ()
    if other == "shape":
        more = (Guard("LAMBDA_GUARD", "3 <= L['x'].size()[0]", "", None),)
    caches = entries((tensor_guard(2),), (tensor_guard("None"), *more))
    caches = {} if other == "no entry" else caches
    found = only([frame(), frame("0/1"), recompiled(SIZE), *made], caches=caches, nodes=nodes)
    assert found.sure == "likely" and "tried" not in found.remedy


def test_a_value_is_told_with_what_came_instead():
    reason = f"0/0: scale == 1.0  # y = x * scale  # {FILE}:5 in step"
    caches = entries(
        (Guard("EQUALS_MATCH", "L['scale'] == 1.0", "", None, "L['scale']"),),
        (Guard("EQUALS_MATCH", "L['scale'] == 0.5", "", None, "L['scale']"),),
    )
    found = only([frame(), frame("0/1"), recompiled(reason)], caches=caches)
    assert "`scale` changed from 1.0 to 0.5" in found.cause and found.place == Place(
        FILE, 5, "step"
    )
    assert "tensor" in found.remedy


@pytest.mark.parametrize(
    "text, kind, source",
    [
        ("tensor 'x' dtype mismatch. expected Float, actual Double", "dtype", "x.dtype"),
        ("tensor 'x' stride mismatch at index 1. expected 1, actual 4", "stride", "x.stride(1)"),
        (
            "tensor 'x' requires_grad mismatch. expected requires_grad=0",
            "requires_grad",
            "x.requires_grad",
        ),
        ("len(items) == 2", "length", "items"),
        ("KeyError on parts['b']", "key", "parts['b']"),
        ("len(batch) != 1", "keys", "batch"),
        ("list(dict.keys(batch))[0] == 'text'", "keys", "batch"),
        ("cache is None", "none", "cache"),
        ("cache is not None", "none", "cache"),
        ("___check_type_id(f, 12), type=<class 'm.F'>", "type", "f"),
        ("___check_obj_id(f, 12), type=<class 'm.F'>", "identity", "f"),
        ("GLOBAL_STATE changed: grad_mode", "global state", ""),
        ('Duplicate tensors found: ["a", "b"]', "alias", '["a", "b"]'),
        ("self.seen == 3", "int", "self.seen"),
        ("what nobody has seen", "other", ""),
    ],
)
def test_what_failed_is_read_of_torchs_words(text, kind, source):
    (failure,) = failures_of(CompileKey("0/1"), [f"0/0: {text}"])
    assert (failure.kind, failure.source, failure.text) == (
        kind,
        source,
        text if "12" not in text else failure.text,
    )
    (found,) = find(capture(frame(), frame("0/1"), recompiled(f"0/0: {text}")))
    assert found.kind == "recompile" and found.cause
    assert (found.sure == "unknown") == (kind == "other")


def test_an_error_that_the_program_saw_names_line_and_operator():
    reason = (
        "RuntimeError when making fake tensor call\n  Explanation: Dynamo failed to run FX node "
        "with fake tensors: call_function lab.bump.default(*(), **{}): got RuntimeError('There was "
        "no fake impl registered for lab::bump')\n"
    )
    torchs = Place("/e/site-packages/torch/_library/custom_ops.py", 863, "__call__")
    event = Skipped(
        KEY,
        Place(FILE, 4, "step"),
        "TorchRuntimeError",
        reason,
        True,
        torchs,
        (Place(FILE, 5, "step"), torchs),
    )
    found = only([event])
    assert (found.kind, found.place) == ("failed", Place(FILE, 5, "step"))
    assert "`lab.bump` has no fake kernel" in found.cause and "lab::bump" in found.remedy


def test_a_size_that_was_marked_and_is_fixed_names_the_line():
    reason = (
        "Constraints violated (L['x'].size()[0])!\n  - You marked L['x'].size()[0] as dynamic but "
        "your code specialized it to be a constant (8)."
    )
    event = Skipped(
        KEY,
        Place(FILE, 4, "step"),
        "ConstraintViolationError",
        reason,
        True,
        None,
        (Place(FILE, 5, "step"),),
    )
    found = only([frame(), event])
    assert found.place == Place(FILE, 5, "step") and "fixed to 8 by this line" in found.cause


def test_a_backend_that_raises_names_the_operation_that_its_error_names():
    made, nodes = (
        [Graph(KEY, "captured", "g", "")],
        {"g": (Node("c", "call_method", "cumsum", 3, Place(FILE, 5, "step")),)},
    )
    reason = "backend='picky' raised:\nNotImplementedError: no cumsum here"
    found = only(
        [Skipped(KEY, Place(FILE, 4, "step"), "BackendCompilerFailed", reason, True), *made],
        nodes=nodes,
    )
    assert found.place == Place(FILE, 5, "step") and "`picky` raised" in found.cause


def test_a_test_of_a_number_that_is_not_known_says_which():
    reason = (
        "Consider annotating your code using torch._check*(). Could not guard on data-dependent "
        "expression u0 > 3 (unhinted: u0 > 3).  (Size-like symbols: none)"
    )
    found = only([Skipped(KEY, Place(FILE, 4, "step"), "UserError", reason, True)])
    assert "the code tests `u0 > 3`" in found.cause and "torch._check" in found.remedy


def test_a_limit_says_why_it_was_hit():
    reason = f"0/0: scale == 1.0  # y = x * scale  # {FILE}:5 in step"
    events = [frame(), frame("0/1"), recompiled(reason)]
    skipped = Skipped(
        CompileKey("0/2"), Place(FILE, 4, "step"), "Unsupported", "limit", limit="recompile_limit"
    )
    found = find(capture(*events, skipped))
    assert [f.kind for f in found] == ["limit", "recompile"]
    assert "recompile_limit (2)" in found[0].cause and "`scale`" in found[0].cause
    assert limit_in("hit config.cache_size_limit (8)") == "cache_size_limit"


def test_what_is_passed_by_is_told_where_it_is_the_programs():
    generator = Passed(Place(FILE, 4, "step"), "a generator function cannot be compiled itself")
    library = Passed(
        Place("/e/site-packages/torch/nn/modules/linear.py", 130, "forward"), "skipfiles list"
    )
    found = only([frame("1/0", 13, "mask"), generator, library])
    assert (found.kind, found.place) == ("eager", Place(FILE, 4, "step"))
    found = find(capture(library))
    assert [f.kind for f in found] == ["nothing"] and "torch's own code" in found[0].cause


def test_nothing_compiled_says_what_is_switched_off():
    found = only([], configuration={"torch._dynamo.config.disable": "True"})
    assert found.kind == "nothing" and "disable = True turns torch.compile off" in found.cause
    assert "no compiled function was called" in only([]).cause


def test_stances_hooks_caches_and_nan_are_told():
    values = Values("x", "float32", (2,), 0, 0, -1.0, 1.0, 0.0)
    events = [
        frame(),
        Stance("force_eager", Place(FILE, 5, "step")),
        Stance("fail_on_recompile", Place(FILE, 6, "step"), "step", SIZE),
        LateHook("0 (Linear)", "_forward_hooks", Place(FILE, 5, "step")),
        NonFinite(
            KEY, "forward", "NaN", "aten.log.default", "log", values, (values,), Place(FILE, 5)
        ),
        CacheUse(KEY, "fx_graph_cache", "hit"),
        CacheUse(KEY, "fx_graph_cache", "miss"),
        Metrics(KEY, {"cudagraph_skip_reason": "skipping cudagraphs due to mutated inputs"}),
    ]
    found = find(capture(*events))
    assert [f.kind for f in found] == ["stance", "stance", "hook", "nan", "cudagraph", "cache"]
    assert "raised under the stance fail_on_recompile" in found[0].cause
    assert "because `x.size(0)` changed from 2 to 5" in found[0].cause


def test_a_cached_function_that_was_looked_through_is_told():
    nodes = {"g": (Node("o", "call_function", "torch.ones", 1, Place(FILE, 15, "mask")),)}
    found = only([frame(), Graph(KEY, "captured", "g", "")], nodes=nodes)
    assert (found.kind, found.place) == ("cached", Place(FILE, 14, "mask"))


@pytest.mark.parametrize(
    "decorator",
    ["@cache", "@functools. \\\n    lru_cache(maxsize=None)", "@(  # a comment\n    lru_cache\n)"],
)
def test_the_cache_of_a_decorator_on_several_lines_is_found(decorator):
    if sys.version_info < (3, 9) and "(" in decorator[:2]:
        pytest.skip("this Python has no such decorator")
    text = f"x = a\n@other\ndef f():\n    'cache'\n\n{decorator}\ndef mask(n):\n    return n\n"
    line = text.split("\n").index("def mask(n):") + 1
    file = "/home/me/cached.py"
    at = Place(file, line + 1, "mask")
    nodes = {"g": (Node("o", "call_function", "torch.ones", 1, at),)}
    (found,) = find(
        capture(frame(), Graph(KEY, "captured", "g", ""), Source(file, text, ""), nodes=nodes)
    )
    assert (found.kind, found.place) == ("cached", Place(file, line, "mask"))


def test_ranks_are_told_by_their_first_difference():
    one = capture(frame(), rank=0)
    two = capture(frame(), broken(6, "Data-dependent branching"), rank=1)
    found = [f for f in find_all([one, two]) if f.kind == "ranks"]
    assert len(found) == 1 and found[0].place == Place(FILE, 6, "step")
    assert find_all([one, one]) == []


def test_the_first_ten_lines_answer_and_all_is_in_the_json():
    found = capture(frame(), *(broken(n, f"Kind {n}", "Because.") for n in range(5, 16)))
    findings = find(found)
    lines = explanation([found], findings).splitlines()
    assert lines[0].startswith("11 graph breaks; 1 function compiled, ")
    assert sum(bool(re.match(r"\d+\. break ", line)) for line in lines[:10]) == 7
    record = json.loads(as_json([found], findings))
    assert len(record["findings"]) == 11 and record["findings"][0]["place"]["line"] == 5
    assert len({f.id for f in findings}) == 11


def test_on_a_terminal_no_line_is_wider_than_it():
    found = capture(frame(), *(broken(n, f"Kind {n}", "Because. " * 20) for n in range(5, 9)))
    findings = find(found)
    lines = explanation([found], findings, 60).splitlines()
    ours = [line for line in lines if not line.startswith("   | ")]  # what torch says stays whole
    assert max(map(len, ours)) == 60 and sum(line.endswith("…") for line in lines[:10]) > 1
    styled = terminal.styled("\n".join(lines), STYLES)
    assert "\x1b[1m1. break\x1b[0m" in styled
    assert re.sub(r"\x1b\[\d*m", "", styled).splitlines() == lines


def test_nothing_to_change_is_said():
    assert count_line([]) == "no problems found"
    assert explanation([capture(frame())], []).startswith("no problems found; 1 function")


def test_what_is_no_dump_is_refused_with_one_line(tmp_path):
    with pytest.raises(NotADump):
        load_all(tmp_path / "none")


@pytest.mark.parametrize(
    "file, own",
    [
        ("/home/me/model.py", True),
        ("/home/me/torch/train.py", True),
        ("/home/me/pellucid/torch/train.py", True),
        ("/home/me/pellucid_demo/demo_model.py", True),
        ("/src/python/pellucid/torch/api/run_script.py", False),
        ("/e/lib/python3.11/site-packages/timm/m.py", False),
        ("/opt/python/lib/python3.12/functools.py", False),
        ("<frozen runpy>", False),
        ("/src/pytorch/torch/nn/modules/module.py", False),
        ("<stdin>", True),
    ],
)
def test_whose_a_file_is(file, own):
    assert is_own(file) is own


def test_errors_of_torchs_own_are_told_as_such():
    def told(kind, reason):
        return only([Skipped(KEY, Place(FILE, 4, "step"), kind, reason, True)])

    found = told("InternalTorchDynamoError", "UnspecializedPythonVariable() is not a constant")
    assert "only known at run time" in found.cause
    found = told("TypeError", "'ConstantVariable' object is not iterable")
    assert "torch's own code fails" in found.cause and "bug in torch" in found.remedy
    assert told("ValueError", "bad value").sure == "unknown"


def test_modules_that_were_compiled_and_not_called_are_told_where_nothing_else_is():
    uncalled = Uncalled("Model", Place(FILE, 4, "step"))
    found = only([uncalled])
    assert found.place == uncalled.place and "`Model`" in found.cause
    passed = Passed(Place(FILE, 4, "step"), "some reason")
    found = find(capture(uncalled, passed))
    assert any("some reason" in f.cause for f in found)
    assert not any("`Model`" in f.cause for f in found)
    assert "`Model`" not in only([uncalled], configuration={SWITCH: "True"}).cause


SWITCH = "torch._dynamo.config.disable"


@pytest.mark.parametrize(
    "module", ["families", "hints", "rewrites", "finding", "words", "find", "parts"]
)
def test_doctests(module):
    failed, tried = doctest.testmod(importlib.import_module(f"pellucid.findings.{module}"))
    assert tried and not failed


@pytest.mark.parametrize("backend, words", [(2.0, "in Dynamo"), (30.0, "in the backend")])
def test_a_slow_compile_is_told_by_what_takes_the_time(backend, words):
    seconds = {"entire_frame_compile_time": 33.0, "backend_compile_time": backend}
    made = dataclasses.replace(capture(frame()), times=(Times(KEY, False, seconds),))
    (found,) = find(made)
    assert (found.kind, found.place, found.cost.seconds) == ("slow", Place(FILE, 4, "step"), 33.0)
    assert words in found.cause and "block" in found.remedy
    seconds = {"entire_frame_compile_time": 20.0, "backend_compile_time": 5.0}
    backward = Times(KEY, True, {"duration": 9.0})
    assert find(dataclasses.replace(made, times=(Times(KEY, False, seconds), backward))) == []


def test_restarts_autotuning_and_guards_are_told_with_their_reasons():
    reasons = ["Encountered graph break in a `with` block", "a list was changed"]
    metrics = Metrics(KEY, {"restart_reasons": reasons, "guard_count": 4000})
    spans = [
        *(("compile_attempt_0", 0, 3.0, ""), ("compile_attempt_1", 3, 4.0, "")),
        ("compile_attempt_2", 7, 30.0, ""),
        ("mm_template_autotuning", 10, 9.0, "8x8, 8x8: triton_mm_3 is the best of 24 candidates"),
        ("benchmark_all", 11, 5.0, ""),  # inside of the other
        *(("addmm_template_autotuning", 20, 2.0, ""), ("build_guards", 40, 6.0, "")),
    ]
    by_id = {f.id.rpartition(":")[2]: f for f in find(timed([metrics], spans))}
    assert set(by_id) == {"restarts", "autotuning", "guards"}
    lost, tuned, guards = (by_id[name] for name in ("restarts", "autotuning", "guards"))
    assert {f.place for f in by_id.values()} == {Place(FILE, 4, "step")}
    assert (lost.count, lost.cost.seconds) == (2, 7.0) and "with` block; a list" in lost.cause
    assert (tuned.count, tuned.cost.seconds) == (2, 11.0) and "best of 24" in tuned.cause
    assert guards.cost.seconds == 6.0 and guards.cause.endswith(": 4000 guards")
    assert find(timed([metrics], [("compile_attempt_0", 0, 30.0, "")])) == []


def test_a_long_compile_lists_what_it_is_made_of():
    seconds = {"entire_frame_compile_time": 40.0, "backend_compile_time": 35.0}
    spans = (Span(KEY, "mm_template_autotuning", 0, 9.0), Span(KEY, "async_compile.wait", 10, 20.0))
    made = dataclasses.replace(capture(frame()), times=(Times(KEY, False, seconds),), spans=spans)
    (found,) = find(made)
    assert found.cause.endswith("(20 s compiling kernels, 9 s autotuning)")


def test_cuda_graphs_that_are_recorded_over_and_over_are_told():
    spans = [("CUDAGraphNode.record", at, 0.01, "") for at in range(9)]
    (found,) = find(timed([], spans))
    assert found.count == 9 and "recorded 9 times" in found.cause and "pad" in found.remedy


@pytest.mark.parametrize(
    "reason, words, line",
    [
        (
            "skipping cudagraphs due to mutated inputs (1 instances). Found from : \n   "
            f'File "{FILE}", line 7, in step\n    y = y + 1\n',
            "clone",
            7,
        ),
        (
            "skipping cudagraphs due to cpu device (arg1_1). Found from : \n   "
            f'File "{FILE}", line 5, in step\n    y = x * scale\n  '
            'File "/e/site-packages/torch/nn/functional.py", line 9, in f\n    return g\n',
            "to the GPU",
            5,
        ),
        ("skipping cudagraphs due to multiple devices: device(type='cuda', index=0)", "one GPU", 0),
        (
            "disabling cudagraphs due to incompatible op aten._foobar.default Found from    "
            f'File "{FILE}", line 10, in step\n    print("half way")\n',
            "out of the compiled function",
            10,
        ),
    ],
)
def test_a_skipped_cuda_graph_names_the_line_and_what_to_change(reason, words, line):
    (found,) = find(capture(frame(), Metrics(KEY, {"cudagraph_skip_reason": reason})))
    assert found.kind == "cudagraph" and words in found.remedy
    assert (found.place.line if found.place else 0) == line
    assert "Found from" not in found.cause and "File" not in found.cause
