"""The causes of findings, each on events as a capture has them."""

import dataclasses
import doctest
import importlib
import json
import re
import sys
from pathlib import Path

import pytest
from pellucid import terminal
from pellucid.dump.model.breaks import break_of
from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import (
    CacheEntry,
    CacheUse,
    CompileKey,
    Frame,
    Graph,
    Guard,
    LateHook,
    Metrics,
    NonFinite,
    Passed,
    Place,
    Recompile,
    Skipped,
    Source,
    Span,
    Specialized,
    Stance,
    Times,
    Uncalled,
    Values,
    Verdict,
)
from pellucid.dump.model.failures import failures_of, is_own, limit_in
from pellucid.dump.model.nodes import Node
from pellucid.dump.store.load import load_all
from pellucid.errors import NotADump
from pellucid.findings import count_line, find, find_all
from pellucid.findings.counts import counts_of
from pellucid.findings.summary import summary
from pellucid.findings.text import as_json, explanation
from pellucid.torch.commands import STYLES

FILE = "/home/me/model.py"
PROGRAM = """\
import torch
import functools

def step(x, scale):
    y = x * scale
    if y.sum() > 0:
        y = y + 1
    else:
        y = y - 1
    print("half way")
    return y

@functools.lru_cache
def mask(n):
    return torch.ones(n)

def signs(x):
    if x.sum() > 0:
        return x
    return -x

def search(x):
    for _ in range(9):
        x = x / 2
        if x.max() < 1:
            break
    assert x.min() > 0, "small"
    return x
"""
KEY = CompileKey("0/0")


def capture(*events, caches=None, nodes=None, configuration=None, rank=None):
    """A capture of the program above."""
    return Capture(
        directory=Path("/nowhere"),
        schema=2,
        versions={},
        configuration=configuration or {},
        events=(Source(FILE, PROGRAM, ""), *events),
        caches=caches or {},
        made_nodes=nodes or {},
        rank=rank,
    )


def frame(id="0/0", line=4, name="step", function=0):
    key = CompileKey(id)
    return Frame(key, function, Place(FILE, line, name), "", Verdict("identical"), f"{id}.py", True)


def broken(line, kind, reason="", context="", id="0/0", more=""):
    """A break as torch words it."""
    text = f"Graph break in user code at {FILE}:{line}\nGraph Break Reason: {kind}\n"
    text += f"  Explanation: {reason}\n\n  Developer debug context: {context}\n{more}\n"
    text += f'User code traceback:\n  File "{FILE}", line {line}, in step\n    …\n'
    return break_of(CompileKey(id), text)


def only(events, **more):
    (found,) = find(capture(*events, **more))
    return found


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


SIZE = "0/0: tensor 'x' size mismatch at index 0. expected 2, actual 5"


def tensor_guard(size):
    text = f"check_tensor(L['x'], Tensor, CPU, torch.float32, size=[{size}, 6], stride=[6, 1])"
    return Guard("TENSOR_MATCH", text, "", None, "L['x']")


def entries(*guards):
    return {0: tuple(CacheEntry(CompileKey(f"0/{n}"), g) for n, g in enumerate(guards))}


def graphs(*targets):
    """Graphs of one operation each, and their nodes."""
    events = [Graph(CompileKey(f"0/{n}"), "captured", f"g{n}", "") for n in range(len(targets))]
    nodes = {f"g{n}": (Node("a", "call_function", t, 1),) for n, t in enumerate(targets)}
    return events, nodes


def recompiled(reason, id="0/1"):
    key = CompileKey(id)
    return Recompile(key, (reason,), failures_of(key, (reason,)))


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


def test_what_torch_does_not_support_is_not_called_wrong():
    reason = (
        "Tensor.tolist() with non-integer tensor\n"
        "  Explanation: Dynamo does not support tracing `tolist()` on non-integer tensors.\n\n"
        "  Developer debug context: call_method TensorVariable() to_list\n"
    )
    place = Place(FILE, 5, "f")
    event = Skipped(CompileKey("0/0"), place, "Unsupported", reason, raised=True, at=place)
    (found,) = [one for one in find(capture(event)) if one.kind == "failed"]
    assert "only for tensors of integers" in found.cause and "uncompiled" not in found.remedy


@pytest.mark.parametrize(
    "hint, change",
    [
        ("Avoid calling `f`.", "torch advises: avoid calling `f`"),
        ("This is likely to be a Dynamo bug. Please report an issue.", "this is a bug in torch"),
        ("This graph break is fundamental - it is unlikely …", "torch will never trace it"),
        ("Your code may result in an error when running in eager.", "force_eager"),
        ("Please report an issue to PyTorch.", ""),
    ],
)
def test_of_an_unknown_break_torchs_hints_say_what_to_change(hint, change):
    stop = broken(10, "Some new thing", "It is not known yet.")
    found = only([frame(), dataclasses.replace(stop, hints=(hint,))])
    assert found.sure == ("likely" if "eager" in hint else "unknown")
    assert change in found.remedy and bool(found.remedy) == bool(change)


def test_what_torch_itself_cuts_is_told_of_the_function():
    stop = broken(10, "DDPOptimizer intentional graph-break (See Note [DDPOptimizer]).")
    torchs = Place("/e/site-packages/torch/_dynamo/backends/distributed.py", 0, "")
    found = only([frame(), dataclasses.replace(stop, frames=(torchs,), place=torchs)])
    assert found.place == Place(FILE, 4, "step") and "distributed.py" not in found.cause


def test_a_size_that_the_code_fixes_is_no_reason_to_mark_it():
    event = Specialized(KEY, ("L['x'].size()[0]",), "2", Place(FILE, 6, "step"))
    found = only([frame(), frame("0/1"), recompiled(SIZE), event])
    assert found.place == Place(FILE, 6, "step") and "this line fixes it" in found.cause
    assert "marking it dynamic would raise" in found.remedy
    text = "check_tensor(L['w'], Parameter, CPU, torch.float32, size=[2], stride=[1])"
    weight = Guard("TENSOR_MATCH", text, "", None, "L['w']")
    caches = entries((tensor_guard(2), weight), (tensor_guard(5),))
    found = only([frame(), frame("0/1"), recompiled(SIZE), event], caches=caches)
    assert "size of a parameter" in found.cause
    assert "force_parameter_static_shapes" in found.remedy


@pytest.mark.parametrize(
    "guard, source, change",
    [
        ("len(items) == 2", "for item in items:", "unrolled"),
        ("len(items) == 2", "items.append(x)", "grows"),
        ("len(items) == 2", "items[x] = x", "grows"),
        ("len(items) == 2", "x = items[0]", "constant in the compiled code"),
    ],
)
def test_a_length_is_told_by_what_the_code_does_with_it(guard, source, change):
    text = f"def f(x, items):\n    {source}{' pass' if source.endswith(':') else ''}\n"
    events = [Source("/home/me/f.py", text, ""), frame(), frame("0/1")]
    found = only([*events, recompiled(f"0/0: {guard}  # {source}  # /home/me/f.py:2 in f")])
    assert change in found.remedy


def test_the_keys_of_a_dict_are_one_cause():
    count = recompiled("0/0: len(batch) != 1")
    name = recompiled("0/1: list(dict.keys(batch))[0] == 'text'", "0/2")
    found = only([frame(), frame("0/1"), frame("0/2"), count, name])
    assert found.count == 2 and "the keys of `batch` changed: it had 1 key" in found.cause
    assert "same keys in the same order" in found.remedy


def test_a_guard_that_wants_a_value_is_not_one_that_wants_none():
    now = only([frame(), frame("0/1"), recompiled("0/0: weight.grad is not None")])
    assert "`weight.grad` is now None" in now.cause and "always pass a value" in now.remedy


def test_torchs_advice_on_sizes_is_not_part_of_what_came_nor_of_the_remedy():
    advice = "Guard failed on a parameter, consider using "
    advice += "torch._dynamo.config.force_parameter_static_shapes = False to allow dynamism"
    text = f"0/0: tensor 'w' rank mismatch. expected 1, actual 2. {advice}"
    found = only([frame(), frame("0/1"), recompiled(text)])
    assert found.cause.endswith("the number of dimensions of `w` changed from 1 to 2")
    assert "static_shapes" not in found.remedy
    text = f"0/0: tensor 'w' requires_grad mismatch. expected requires_grad=1. {advice}"
    assert "static_shapes" not in only([frame(), frame("0/1"), recompiled(text)]).remedy


def test_a_captured_variable_is_told_by_its_name():
    guard = "0/0: loss.__closure__[0].cell_contents == 0.25  # return x * alpha  "
    guard += f'# {FILE}:5 in focal (HINT: guard on "alpha")'
    found = only([frame(), frame("0/1"), recompiled(guard)])
    assert "the float `alpha`, captured by `loss`, changed: it was 0.25" in found.cause
    assert "__closure__" not in found.remedy and "`alpha`" in found.remedy


@pytest.mark.parametrize(
    "code, remedy",
    [
        ("if x.sum().item() > 3:\n        y = y + 1", "torch.where(x.sum() > 3, y + 1, y)"),
        ("while x.sum().item() > 3:\n        y = y + 1", "a fixed number of steps"),
        ("if int(x.sum()) > 3:\n        y = y + 1", "choose with torch.where"),
        ("y = y * x.sum().item()", "capture_scalar_outputs = True"),
    ],
)
def test_a_number_that_is_tested_is_a_branch_and_no_setting_helps(code, remedy):
    text = f"import torch\n\ndef f(x, y):\n    {code}\n    return y\n"
    hint = "  Hint: Set `torch._dynamo.config.capture_scalar_outputs = True`\n"
    event = broken(4, "Unsupported Tensor.item() call", more=hint)
    (found,) = find(dataclasses.replace(capture(), events=(Source(FILE, text, ""), frame(), event)))
    told = found.remedy + "".join(r.diff for r in found.remedies)
    assert remedy in told and ("capture_scalar" in told) == ("capture_scalar" in remedy)


def test_a_number_in_an_autograd_function_is_not_made_a_symbol():
    text = "import torch\n\nclass Round(torch.autograd.Function):\n    @staticmethod\n"
    text += "    def forward(ctx, x):\n        return x * x.max().item()\n"
    event = broken(
        6, "Unsupported Tensor.item() call", more="  Hint: Set `torch._dynamo.config.x = True`"
    )
    (found,) = find(dataclasses.replace(capture(), events=(Source(FILE, text, ""), frame(), event)))
    assert "config" not in found.remedy and "pass it in" in found.remedy


def test_a_compile_that_raised_has_compiled_nothing():
    made = capture(frame(), Skipped(KEY, Place(FILE, 4, "step"), "ValueError", "no", True))
    assert counts_of([made], ()).compiled == "nothing compiled"
    assert [line.text for line in summary([made], ())[:2]] == [
        "Compiled    nothing",
        "Decompiled  nothing",
    ]


def test_a_restart_names_its_break_not_all_that_torch_says():
    reason = "Unsupported Tensor.item() call\n  Explanation: Dynamo does not.\n  Hint: Set it.\n"
    signal = "<class 'torch._dynamo.exc.TensorifyScalarRestartAnalysis'>"
    metrics = Metrics(KEY, {"restart_reasons": [reason, signal]})
    (found,) = find(
        timed([metrics], [("compile_attempt_0", 0, 6.0, ""), ("compile_attempt_1", 6, 1.0, "")])
    )
    assert found.cause.endswith("Unsupported Tensor.item() call; TensorifyScalarRestartAnalysis")


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


def timed(events, spans):
    """A capture of one compile of 29 seconds, with these parts."""
    times = (Times(KEY, False, {"entire_frame_compile_time": 29.0}),)
    made = [Span(KEY, name, at, seconds, 0, about) for name, at, seconds, about in spans]
    return dataclasses.replace(capture(frame(), *events), times=times, spans=tuple(made))


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


WRONG_IN_EAGER = "Your code may result in an error when running in eager."


@pytest.mark.parametrize(
    ("kind", "hints", "remedy"),
    [
        ("Unsupported Tensor.backward() call", [], "trace_autograd_ops = True"),
        (
            "using `torch.autograd.grad` with `torch._dynamo.config.trace_autograd_ops=False`",
            ["Change `torch._dynamo.config.trace_autograd_ops` to `True`."],
            "trace_autograd_ops = True",
        ),
        (
            "autograd.grad with output that requires grad",
            ["Call .detach() on the output before returning it."],
            "torch advises: call .detach()",
        ),
        (
            "attempted to trace torch._numpy.random function with use_numpy_random_stream=True",
            [],
            "use_numpy_random_stream = False",
        ),
        ("Dynamic shape operator (no meta kernel)", [], "register a fake kernel"),
        (
            "P2P compilation disabled for isend/irecv",
            ["Set TORCHDYNAMO_ENABLE_P2P_COMPILATION=1 to enable."],
            "TORCHDYNAMO_ENABLE_P2P_COMPILATION=1",
        ),
        ("torch.cond: improper args/kwargs", [WRONG_IN_EAGER], "force_eager"),
        (
            "Unsupported conversion for slice assignment",
            ["Use a constant slice."],
            "constant slice",
        ),
        (
            "Call to `torch.compiler.disable()`",
            ["Move the `torch.compiler.disable()` call outside the compiled function."],
            "torch advises: move",
        ),
        ("Data-dependent assertion failed (cannot compile partial graph)", [], "torch._assert"),
        ("Unsupported autograd.Function context `mark_dirty`", [], "save_for_backward"),
    ],
)
def test_a_kind_of_break_has_the_remedy_that_fits_it(kind, hints, remedy):
    text = "".join(f"  Hint: {hint}\n" for hint in hints)
    found = only([frame(), broken(5, kind, "It says why", more=text)])
    assert remedy in found.remedy, found.remedy


def test_what_torch_advises_can_be_tried():
    hint = "Set `torch._dynamo.config.some_setting = True` to trace it."
    found = only([frame(), broken(5, "Some new kind", "Why", more=f"  Hint: {hint}\n")])
    assert [(r.kind, r.code) for r in found.remedies if r.kind != "by hand"] == [
        ("setting", "torch._dynamo.config.some_setting = True")
    ]


def test_what_a_function_sets_itself_asks_for_no_change():
    program = "import torch\n\ndef forward(self, x):\n    if self.kind is None:\n"
    program += "        self.kind = 'one'\n    return x\n"
    failure = f"0/0: self.kind is None  # if self.kind is None:  # {FILE}:4 in forward"
    events = [frame("0/0", 3, "forward"), frame("0/1", 3, "forward"), recompiled(failure)]
    made = dataclasses.replace(capture(), events=(Source(FILE, program, ""), *events))
    (found,) = find(made)
    assert found.remedy.startswith("no change needed: the function sets `self.kind` itself")
