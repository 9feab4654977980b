"""The lint of user-facing text finds each habit, and nothing in the text of the project."""

from pathlib import Path
from typing import Dict, List

import english
import pytest

SENTENCES: Dict[str, List[str]] = {
    "outside of": ["Print it outside of the loop."],
    "is no": ["The file is no archive.", "These are no errors.", "It was no valid header."],
    "hand in": ["Hand the size in as a tensor.", "A value that was handed in is kept."],
    "made of": ["It makes a number of a tensor.", "See what the backend made of it."],
    "what was made": ["What Dynamo made"],
    "parts from": ["The line at which a run parts from the other."],
    "other than": ["The result is other than expected.", "It has another than the first."],
    "other for different": [
        "The first field that it has other: size.",
        "Calls in another order, \
in other orders.",
    ],
    "told": ["Only the first is told.", "The log tells no times."],
    "said": ["That is said in the index.", "The trace does not say why."],
    "where for if": ["Where there is none, it builds one.", "Where nobody can type, it ends."],
    "take back": ["Take the option back.", "The hook is taken away."],
    "mend": ["Mend the call."],
    "anew": ["The graph is traced anew."],
    "begun again": ["The trace was begun again."],
    "in front": ["A reset in front helps."],
    "behind its name": ["It is kept behind its own name."],
    "stands": ["The name stands twice.", "The reason stands in the index."],
    "lines answer": ["The first three lines answer."],
    "as X has it": ["The exit code is 1, as grep has it."],
    "who reads": ["Who needs more sets a limit.", "It fails. Who sees this waits."],
    "to be had": ["No compiler was to be had."],
    "mind whom": ["Mind whom you show it."],
    "a for per": [
        "There is a row a compile.",
        "It writes one folder a version.",
        "64 values a byte",
    ],
    "of its own": ["Each graph has a file of its own."],
    "of yours": ["The line of yours that caused it."],
    "goes on": ["The search goes on."],
    "compile again": ["It was compiled again.", "It compiles `f` again."],
    "passed by": ["The frame was passed by.", "The cache passed every key by."],
    "exit status": ["The exit status is 1."],
    "without a word": ["It stops without a word."],
    "asks for nothing": ["A page that asks for nothing else."],
    "a part of a graph": ["It cannot be a part of a graph."],
    "are alike": ["Both runs are alike."],
    "thereof": ["A graph and a part thereof."],
    "sure:": ["sure: maybe"],
    "dearest": ["The dearest compile comes first."],
    "comes of": ["A number that comes of a tensor."],
    "does as well": ["A log does as well."],
    "lets go": ["Esc lets go."],
    "was met": ["It was met 3 times."],
    "on PATH": ["It is looked for on PATH."],
    "keep it a": ["Keep it a tensor."],
    "other X than": ["The run gives other results than eager."],
    "only where": ["It works only where both sizes are equal."],
    "that are there": ["It does not change files that are there."],
    "how large it is depends": ["How large the result is depends on the values."],
    "comes to nothing": ["An attempt that came to nothing."],
    "this way to": ["This way to draw numbers is not traced."],
    "however deep": ["It opens archives, however deep."],
}

RIGHT = """\
There is no release yet. It is no longer needed. This is no slower. There would be no error.
The stand-in stands in for the original. Who runs the tests? It makes use of a list of names.
Arguments are passed by position. Pass `x` as a tensor. It starts to run outside the block.
It is called once per compile. The parts from which a key is computed are listed.
Keep it as a tensor. Mark sizes only where necessary. There are other ways. Files are there.
"""


def test_each_habit_has_a_sentence() -> None:
    assert list(SENTENCES) == list(english.HABITS)


@pytest.mark.parametrize("habit", SENTENCES)
def test_a_habit_is_found(habit: str) -> None:
    for sentence in SENTENCES[habit]:
        assert habit in [found for found, _ in english.habits(sentence)], sentence


def test_good_sentences_are_not_found() -> None:
    assert list(english.habits(" ".join(RIGHT.split()))) == []


def test_text_of_the_project_has_no_habits() -> None:
    assert list(english.found()) == []


def test_each_excuse_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    excused = dict(english.EXCUSED)
    monkeypatch.setattr(english, "EXCUSED", {})
    assert {(one.file, one.words) for one in english.found()} >= set(excused)


def test_markdown_is_read_without_code() -> None:
    page = "A file\nis no\narchive.\n\n```console\n$ told: is told\n```\n- `is told` is fine\n"
    found = [(line, list(english.habits(text))) for line, text in english.markdown(page)]
    assert [one for one in found if one[1]] == [(1, [("is no", "is no archive")])]


def test_templates_and_comments_are_read() -> None:
    page = "<p>{{ a }} is told.</p>\n<style>.told{}</style>"
    found = [list(english.habits(text)) for _, text in english.template(page)]
    assert found == [[("told", "is told")], []]
    code = "const a = `it is told`; // is told\nb('no', 'is told')"
    assert list(english.script(code)) == [(1, "it is told"), (2, "is told")]
    header = "int a;  // the size\n// Where there\n// is none, it throws.\nint b;\n"
    assert list(english.comments(header)) == [
        (1, "the size Where there is none, it throws."),
    ]


def test_strings_and_public_docstrings_are_read(tmp_path: Path) -> None:
    module = '''
"""The module is no concern."""
def f(x):
    """Return what is told."""
    raise ValueError(f"{x} is no list" " of names")
def _g():
    """Private: is told."""
'''
    assert [text for _, text in english.strings(module, False)] == ["~ is no list of names"]
    assert sorted(text for _, text in english.strings(module, True)) == [
        "Return what is told.",
        "~ is no list of names",
    ]
