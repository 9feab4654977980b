"""What findings advise, each on events as a capture has them."""

import dataclasses

import pytest
from made_captures import (
    FILE,
    KEY,
    SIZE,
    broken,
    capture,
    entries,
    frame,
    only,
    recompiled,
    tensor_guard,
    timed,
)
from pellucid.dump.model.events import (
    CompileKey,
    Guard,
    Metrics,
    Place,
    Skipped,
    Source,
    Specialized,
)
from pellucid.findings import find
from pellucid.findings.counts import counts_of
from pellucid.findings.summary import summary


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
