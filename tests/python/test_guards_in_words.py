"""Failed guards in words: whole, with what their terms mean, and at lines of the program."""

import dataclasses

import pytest
from made_captures import FILE, KEY, capture, frame, only
from pellucid.dump.model.events import Place, Skipped, Unbacked
from pellucid.dump.model.guard_places import user_files, with_whole_paths
from pellucid.findings import find
from test_counts import again


def recompiled(text, *events):
    return only([frame(), frame("0/1"), again("0/1", text), *events])


def test_a_path_that_torch_cuts_is_the_programs_file_in_every_finding():
    """torch cuts what a path has in common with its own, and a letter more."""
    line = "0/0: scale == 1.0  # y = x * scale  # ome/me/model.py:5 in step"
    made = capture(frame(), again("0/1", line))
    events = with_whole_paths(made.events, user_files(made.events))
    (found,) = find(dataclasses.replace(made, events=events))
    assert found.place == Place(FILE, 5, "step") and found.code == "y = x * scale"


def test_a_place_inside_torch_is_no_line_of_the_users():
    line = "0/1: ((-1)*lr) == (-0.02)  # (fx/passes/_tensorify_python_scalars.py:429 in _impl)"
    made = capture(frame(), again("0/1", line), again("0/2", "0/0: lr == 0.01"))
    events = with_whole_paths(made.events, user_files(made.events))
    (found,) = find(dataclasses.replace(made, events=events))
    assert found.place == Place(FILE, 4, "step") and found.count == 2
    assert "the float `lr` changed from 0.02 to 0.01" in found.cause


@pytest.mark.parametrize(
    "text, words",
    [
        ("0/0: 2 <= x.size()[0] <= 4", "`2 <= x.size(0) <= 4` no longer holds"),
        ("0/0: n == 2 and len(x) == 3", "`n == 2 and len(x) == 3` no longer holds"),
        ("0/0: 2*x.size()[0] > x.size()[1]", "`2*x.size(0) > x.size(1)` no longer holds"),
        (
            "0/0: tensor 'x' dispatch key set mismatch. expected DispatchKeySet(CPU, "
            "BackendSelect), actual DispatchKeySet(CPU, BackendSelect, ADInplaceOrView)",
            "used inside inference_mode or was created there, then it is an ordinary tensor",
        ),
        (
            "0/0: tensor 'x' dispatch key set mismatch. expected DispatchKeySet(CPU), "
            "actual DispatchKeySet(CPU, Conjugate)",
            "`x` changed: it is not a conjugate view, then it is a conjugate view",
        ),
        (
            "0/0: expected type of 'x' to be a tensor type, ' but found <class 'model.Kind'>",
            "the type of `x` changed: it is model.Kind",
        ),
    ],
)
def test_a_guard_is_told_whole_and_in_words(text, words):
    found = recompiled(text)
    assert words in found.cause and found.remedy


def test_a_number_of_run_time_is_told_with_the_line_that_made_it():
    made = Unbacked(KEY, "u1", Place(FILE, 7, "step"), (Place(FILE, 7, "step"),))
    text = "Could not guard on data-dependent expression Eq(Mod(u1, 2), 0) (unhinted: …)."
    place = Place(FILE, 6, "step")
    found = only([made, Skipped(KEY, place, "UserError", text, True, place, (place,))])
    assert "tests `u1 % 2 == 0`" in found.cause
    assert "`u1` comes from model.py:7 (`y = y + 1`)" in found.cause


def test_functions_behind_one_wrapper_share_its_code_and_limit():
    def inside(id, name):
        return dataclasses.replace(frame(id, name=name), wrapper="wrapper")

    text = "0/0: ___check_obj_id(function.__code__, 7)"
    events = [inside("0/0", "A.forward"), inside("0/1", "B.forward"), again("0/1", text)]
    found = only(events)
    assert "`A.forward` and `B.forward` run the code of one wrapper, `wrapper`" in found.cause
    assert "recompile_limit" in found.cause and found.remedy.startswith("no change needed")


def test_an_object_that_is_freed_ends_the_version_that_was_compiled_for_it():
    found = recompiled("0/0: Cache line invalidated because L['model'].mask got deallocated")
    assert "`model.mask` was freed, and its compiled version with it" in found.cause
    assert "create it once, outside the call" in found.remedy


def test_a_cache_that_grows_by_one_is_told_of_the_static_one():
    text = "0/0: tensor 'past_key_values.layers[0].keys' size mismatch at index 2. "
    found = recompiled(text + "expected 9, actual 10")
    assert "grows by one with every step" in found.cause
    assert 'cache_implementation = "static"' in found.remedy
    plain = recompiled("0/0: tensor 'x' size mismatch at index 0. expected 9, actual 10")
    assert "mark_dynamic" in plain.remedy
