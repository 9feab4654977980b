"""Remedies of kinds of programs whose first remedy, tried, was none."""

import dataclasses

import pytest
from made_captures import FILE, SIZE, broken, capture, frame, only
from pellucid.dump.model.events import (
    CacheEntry,
    CompileKey,
    Frame,
    Guard,
    Place,
    Recompile,
    Skipped,
    Source,
    Verdict,
)
from pellucid.dump.model.failures import failures_of
from pellucid.findings import find
from test_counts import again

NEW = CompileKey("0/1")


AT = f"  # y = x * scale  # {FILE}:5 in step"


def guarded(*texts, key=NEW):
    made = (Guard("EQUALS_MATCH", text, "", None, text.partition(" ")[0]) for text in texts)
    return {0: (CacheEntry(key, tuple(made)),)}


def recompiled(text, *texts, **more):
    return only([frame(), frame("0/1"), again("0/1", text)], caches=guarded(*texts, **more))


def test_sizes_that_must_be_equal_are_marked_together():
    hint = "(HINT: torch.compile considers 0/1 specialization; try mark_unbacked)"
    text = f"0/0: 2 <= x.size()[0]{AT} {hint}"
    equal = "L['scale'].size()[1] == L['x'].size()[0]"
    found = recompiled(text, equal, "2 <= L['x'].size()[0]", key=CompileKey("0/0"))
    calls = [f"torch._dynamo.decorators.mark_unbacked({of})" for of in ("x, 0", "scale, 1")]
    assert found.remedies[0].code == "; ".join(calls)
    assert found.remedy.startswith(f"call `{calls[0]}` and `{calls[1]}` before the first call")
    found = recompiled(text.replace("2 <= x.size()[0]", "2 <= x.size()[0] <= 4"), equal)
    assert found.remedy.startswith("warm up both versions")  # the code tests the size


def test_a_number_that_torch_has_made_dynamic_asks_for_no_change():
    found = recompiled("0/0: scale == 1.0", "scale TYPE_MATCH")
    assert found.remedy.startswith("no change needed: PyTorch has already made `scale` dynamic")
    assert found.remedies[1].code == "dynamic=True"
    found = recompiled("0/0: scale == 1.0", "scale == 2.0")
    assert found.remedy.startswith("pass `scale` as a tensor")


def test_after_a_break_the_original_function_gets_the_argument():
    name, key = "torch_dynamo_resume_in_step_at_6", CompileKey("1/1")
    frames = [frame("1/0", 6, name), frame("1/1", 6, name)]
    found = only([*frames, again("1/1", f"1/0: scale == 1.0{AT}")], caches=guarded("x", key=key))
    remedy = next(remedy for remedy in found.remedies if remedy.kind == "argument")
    assert (remedy.code, remedy.target.function) == ("scale = torch.tensor(scale)", "step")


def test_the_value_of_a_line_of_a_library_names_its_file():
    name = "torch_dynamo_resume_in___init___at_297"
    place = Place("/usr/lib/python3.11/logging/__init__.py", 297, name)
    frames = [dataclasses.replace(frame(id), place=place) for id in ("1/0", "1/1")]
    text = f"1/0: ___stack0 == 17.5{AT}"
    made = capture(*frames, again("1/1", text), caches=guarded("x", key=CompileKey("1/1")))
    (found,) = (finding for finding in find(made) if finding.kind == "recompile")
    assert "the value of line 297 of __init__.py changed" in found.cause


def test_the_value_of_a_tensor_is_a_constant_where_it_is_an_index():
    found = recompiled("0/0: scale.item() == 1", "scale.item() == 4")
    assert found.remedy.startswith("pass `scale` to an operation that takes a tensor")


def test_each_module_has_its_own_value_and_a_share_of_the_limit():
    events = [frame(), frame("0/1"), frame("0/2")]
    for number in (1, 2):
        events.append(again(f"0/{number}", f"0/{number - 1}: self.key == 'layer.{number}'"))
        events.append(again("0/3", "0/2: self.key == 'layer.3'"))
    place = Place(FILE, 4, "step")
    limit = Skipped(CompileKey("0/4"), place, "Unsupported", "limit", limit="recompile_limit")
    found = find(capture(*events, limit))
    assert [f.kind for f in found] == ["limit", "recompile"]
    assert found[0].remedies[0].code == "torch._dynamo.config.recompile_limit = 64"
    assert "pass what `self.key` selects as an argument" in found[1].remedy


def test_a_limit_is_remedied_by_what_ends_its_recompiles():
    text = (
        f"0/0: self.n == 1{AT} (HINT: torch.compile considers integer attributes of the nn.Module)"
    )
    place = Place(FILE, 4, "step")
    limit = Skipped(CompileKey("0/2"), place, "Unsupported", "limit", limit="recompile_limit")
    found = find(capture(frame(), frame("0/1"), again("0/1", text), limit))
    remedies = found[0].remedies
    assert remedies[0].code == "torch._dynamo.config.allow_unspec_int_on_nn_module = True"
    assert len(remedies) == 2 and "fix the cause" in remedies[-1].words  # no higher limit


def test_a_variable_of_the_environment_is_told_as_it_is_written():
    text = "0/0: G['os'].environ._data[b'DEBUG'] == b'0'       #   # <frozen os>:761 in decode"
    found = recompiled(text)
    assert "`os.environ['DEBUG']` changed: it was b'0'" in found.cause


def test_a_test_of_a_number_is_told_as_a_test():
    found = recompiled(f"0/0: (n % 10) != 0{AT}")
    assert "`(n % 10) != 0` no longer holds" in found.cause
    assert found.remedy.startswith("warm up both sides of the test")


@pytest.mark.parametrize("compiled", [True, False])
def test_an_optimizer_is_compiled_by_itself_or_not(compiled):
    of = Place("/e/site-packages/torch/optim/sgd.py", 105, "step")
    own = Frame(CompileKey("2/0"), 1, of, "", Verdict("identical"), "2.py", True)
    kind = "Attempted to call function marked as skipped"
    context = "module: torch.optim.sgd, qualname: SGD.step, skip reason: <missing reason>"
    event = broken(5, kind, "Dynamo does not know how to trace it", context)
    (found,) = [f for f in find(capture(*[frame(), event], *[own] * compiled)) if f.place]
    assert found.remedy == "no change needed" if compiled else "compile the step" in found.remedy


def test_a_function_of_torchs_is_not_to_be_made_an_operator():
    kind = "Attempted to call function marked as skipped"
    context = "module: torch.nn.utils.rnn, qualname: pack_padded_sequence, skip reason: <missing>"
    found = only([frame(), broken(5, kind, "Dynamo does not know how to trace it", context)])
    assert found.remedy == "call it outside the compiled function"


LIBRARY = "/e/site-packages/quantlib/__init__.py"


def test_what_a_library_raises_is_told_in_its_words():
    context = "raised exception ValueError('pack: bits must be 4 or 8, got 3')"
    event = broken(5, "Observed exception", "Dynamo found no exception handler", context)
    event = dataclasses.replace(event, place=Place(LIBRARY, 6, "pack"))
    event = dataclasses.replace(event, frames=(Place(FILE, 5, "step"), event.place))
    found = only([frame(), event])
    assert found.place == Place(FILE, 5, "step")
    assert found.cause.startswith("a library raises ValueError: pack: bits must be 4 or 8, got 3")
    assert found.remedy == "do what its message says: the call also raises uncompiled"


@pytest.mark.parametrize(
    "explanation",
    [
        "Packed: no kernel for aten.view.default; call unpack() first",
        "Dynamo failed to run FX node with fake tensors: call_function quantlib.mm.default(*(x,)): "
        "got TypeError('Packed: no kernel for aten.view.default; call unpack() first')",
    ],
)
def test_what_a_library_raises_through_torch_is_told_in_its_words(explanation):
    reason = f"RuntimeError when making fake tensor call\n  Explanation: {explanation}\n  Hint: x\n"
    at = Place(FILE, 5, "step")
    found = only([Skipped(NEW, Place(FILE, 4, "step"), "TorchRuntimeError", reason, True, at)])
    assert "Packed: no kernel for aten.view.default; call unpack() first" in found.cause
    assert "torch: " not in found.cause and found.remedy.startswith("do what the message says")


def test_a_mark_goes_to_the_code_that_wraps_a_function():
    frames = [dataclasses.replace(frame(f"0/{n}"), wrapper="wrapper") for n in (0, 1)]
    found = only([*frames, again("0/1", SIZE)])
    assert found.cause.startswith("`step` was recompiled")
    assert {r.target for r in found.remedies if r.kind == "mark"} == {Place(FILE, 4, "wrapper")}


def test_what_a_library_raises_in_a_whole_graph_is_told_in_its_words():
    reason = (
        "Observed exception\n  Explanation: Dynamo found no exception handler\n  Hint: x\n\n"
        "  Developer debug context: raised exception ValueError('pack: got 3')\n"
    )
    at, frames = Place(LIBRARY, 6, "pack"), (Place(FILE, 5, "step"),)
    event = Skipped(NEW, Place(FILE, 4, "step"), "Unsupported", reason, True, at, frames)
    found = only([event])
    assert found.place == Place(FILE, 5, "step")
    assert "a library raises ValueError: pack: got 3" in found.cause


def test_of_torchs_state_the_version_tells_that_is_most_alike():
    texts = [
        "0/1: GLOBAL_STATE changed: grad_mode default_dtype ",
        "0/0: GLOBAL_STATE changed: default_dtype ",
    ]
    key = CompileKey("0/2")
    frames = [frame(f"0/{number}") for number in range(3)]
    found = only([*frames, Recompile(key, tuple(texts), failures_of(key, texts))])
    assert "the state of torch changed (default dtype)" in found.cause
    found = only([*frames[:2], again("0/1", texts[0])])
    assert "(grad mode, default dtype)" in found.cause


def test_a_tensor_for_the_result_that_is_resized_is_no_error_of_the_program():
    reason = "Shape mismatch when calling <built-in> with `out=`. Provided `out=` shape: [0]."
    found = only([frame(), broken(5, "Shape mismatch with out= tensor variant", reason)])
    assert "resizes its `out=`" in found.cause and found.remedy.startswith("leave out `out=`")


def test_a_size_that_any_version_bounds_is_not_marked_unbacked():
    one = "0/0: tensor 'x' size mismatch at index 0. expected 1, actual 5"
    mark = "torch._dynamo.decorators.mark_unbacked(x, 0)"
    assert recompiled(one, "2 <= L['x'].size()[0]").remedies[0].code == mark
    found = recompiled(one, "2 <= L['x'].size()[0] <= 16")
    assert found.remedy.startswith("warm up both versions")
    assert recompiled(one, "2 <= L['xx'].size()[0] <= 16").remedies[0].code == mark


@pytest.mark.parametrize(
    "line, remedy",
    [
        ("self.key = 1", "each module has its own value"),
        ("sampler.key = 1", "pass only values that matter"),
    ],
)
def test_an_attribute_that_is_set_from_outside_is_not_one_of_each_module(line, remedy):
    text = f"class M:\n    def __init__(self):\n        {line}\n    def step(self, x):\n"
    text += "        return x * self.key\n"
    events = [Source("/home/me/m.py", text, ""), *(frame(f"0/{n}") for n in range(4))]
    for number in (1, 2, 3):
        guard = f"0/{number - 1}: self.key == 'k{number}'"
        events.append(again(f"0/{number}", f"{guard}  # return x  # /home/me/m.py:5 in step"))
    assert remedy in only(events).remedy


def test_a_cache_that_the_function_fills_grows():
    text = "CACHE = WeakKeyDictionary()\ndef f(x):\n    CACHE[x] = 1\n    return CACHE[x]\n"
    events = [Source("/home/me/c.py", text, ""), frame(), frame("0/1")]
    guard = "0/0: len(G['CACHE'].data) == 1  # CACHE[x] = 1  # /home/me/c.py:3 in f"
    assert "it grows" in only([*events, again("0/1", guard)]).remedy
