"""What trials are made of, without PyTorch: diffs, working directories, verdicts."""

import dataclasses
import doctest
from types import SimpleNamespace

import pytest
from made_captures import capture
from pellucid.dump.model.events import Place
from pellucid.errors import CannotTry
from pellucid.findings import Finding, remedy
from pellucid.findings.remedy import Outcome, Remedy, Trial, in_order, in_words, tried
from pellucid.findings.text import explanation
from pellucid.torch.trying import edits, trial
from pellucid.torch.trying.edits import DoesNotApply, apply
from pellucid.torch.trying.judged import Run, judged

TEXT = "one\ntwo\nthree\nfour\n"
PLACE = Place("/home/me/model.py", 7)


@pytest.mark.parametrize("module", [remedy, edits])
def test_the_examples_of_the_docstrings(module):
    assert doctest.testmod(module).failed == 0


def test_a_diff_of_several_hunks_moves_the_lines_below():
    diff = "--- a\n+++ b\n@@ -1,2 +1,3 @@\n one\n+new\n two\n@@ -4 +5,0 @@\n-four\n"
    edited = apply(TEXT, diff)
    assert edited.text == "one\nnew\ntwo\nthree\n"
    assert [edited.line(n) for n in (1, 2, 3, 5)] == [1, 3, 4, 5]


def test_diffs_of_neighbouring_lines_are_applied_together():
    second = "--- a\n+++ a\n@@ -1,3 +1,2 @@\n one\n-two\n three"
    third = "--- a\n+++ a\n@@ -2,3 +2,2 @@\n two\n-three\n four"
    with pytest.raises(DoesNotApply):
        apply("one\n", f"{second}\n{third}")
    edited = apply(TEXT, f"{third}\n{second}")
    assert edited.text == "one\nfour\n" and edited.line(4) == 2


@pytest.mark.parametrize("diff", ["", "@@ -1 +1 @@\n-two\n+x\n", "@@ -9 +9 @@\n-x\n"])
def test_a_diff_of_another_text_is_refused(diff):
    with pytest.raises(DoesNotApply):
        apply(TEXT, diff)


def found(kind="break", line=7, more="gb1", count=1):
    place = Place("/home/me/model.py", line)
    return Finding(f"{kind}:model.py:{line}:{more}", kind, place, "", "a cause", count=count)


def judge(before, after, target=None, raised="", was="", apart=False, moved=lambda f, line: line):
    first = Run(tuple(before), Outcome(1, 0, 1.0, was))
    then = Run(tuple(after), Outcome(0, 0, 1.0, raised), 3, 0.5 if apart else 0.0, apart)
    return judged(first, then, target or before[0], moved).status


def test_what_two_runs_show_of_a_remedy():
    broken, other = found(), found(line=9)
    assert judge([broken], []) == "works"
    assert judge([broken], [broken]) == "does not help"
    assert judge([found(count=5)], [found(count=2)]) == "helps"
    assert judge([broken], [other]) == "helps"
    assert judge([broken], [other], was="ValueError: x") == "works"  # it goes further
    assert judge([broken], [other], was="ValueError: x", raised="KeyError: x") == "helps"
    assert judge([broken, other], [other]) == "works"
    assert judge([broken], [found("failed", 9)]) == "does not help"
    again, elsewhere = found("recompile"), found("recompile", 9)
    assert judge([again], [elsewhere]) == "does not help"
    assert judge([broken, again], [elsewhere]) == "works"
    freed, moved = (found("recompile", 9, f"gone value of line {n}") for n in (10, 9))
    assert judge([broken, freed], [moved], moved=lambda file, line: line - 1) == "works"
    # The lines of a library do not move with the user's.
    installed = found("recompile", 9, "gone value of line 10 of __init__.py")
    assert judge([broken, installed], [installed], moved=lambda file, line: line - 1) == "works"
    assert judge([broken], [], raised="ValueError: x") == "does not help"
    assert judge([broken], [], apart=True) == "changes results"
    assert judge([other], [broken], target=broken) == "suggestion"
    assert judge([broken], [found(line=5)], moved=lambda file, line: line - 2) == "does not help"


def test_a_remedy_that_was_tried_and_failed_is_never_first():
    fails, works = Remedy("do one", "setting", "a"), Remedy("do two", "setting", "b")
    by_hand, helps = Remedy("do three"), Remedy("do four", "setting", "c")
    trials = [
        tried(fails, Trial("does not help")),
        by_hand,
        tried(helps, Trial("helps")),
        tried(works, Trial("works", "", Outcome(2, 1, 3.0), Outcome(0, 1, 2.0), 0.0, 4)),
    ]
    assert [r.words for r in in_order(trials)] == ["do two", "do four", "do three", "do one"]
    assert in_words(trials) == "do two, or do four, or do three"
    text = explanation([], [found().with_remedies(trials)])
    assert "Do two, or do four, or do three. Tried: works." in text
    told = "tried: works: 2 -> 0 graph breaks, 1 -> 1 recompiles, 3.00 s -> 2.00 s, 4 results are"
    assert told in text and text.index("change: Do two.") < text.index("not: Do one.")
    text = explanation([], [found().with_remedies(trials[:1])])
    assert "None of the remedies tried helps." in text


def test_what_starts_a_job_is_run_again_and_never_a_rank_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(trial, "importlib", SimpleNamespace(util=SimpleNamespace(find_spec=id)))
    script = tmp_path / "train.py"
    script.write_text("")
    ran = {"command": (str(script),), "folder": "/"}
    rank = dataclasses.replace(capture(), rank=0, world_size=2, **ran)
    with pytest.raises(CannotTry, match="does not record how its distributed job was started"):
        trial._program_of([rank], ())
    launcher = ("-m", "torch.distributed.run", "train.py")
    known = dataclasses.replace(rank, started=launcher, started_in=str(tmp_path))
    assert trial._program_of([rank, known], ()) == (launcher, str(tmp_path))
    assert trial._program_of([rank], launcher).command == launcher
    alone = dataclasses.replace(rank, rank=None, world_size=None)
    assert trial._program_of([alone], ()) == ((str(script),), "/")
