"""What people ask of a program is answered in the first ten lines: cause, line, what to change."""

import gc
import importlib.util
import json
import re
import unittest.mock
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest
from pellucid import load
from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import Break, CompileKey
from pellucid.findings import find
from pellucid.findings.remedies import advise
from pellucid.findings.source import Program
from pellucid.findings.text import explanation
from pellucid.findings.words import sentence
from pellucid.torch import prepare_debug
from support import torch_version

PROGRAM = Path(__file__).with_name("programs") / "asked.py"
LINES = PROGRAM.read_text().splitlines()
NAMES = re.findall(r"^def (\w+)\(\):$", PROGRAM.read_text(), re.MULTILINE)
NAMES.remove("locked")
# Kinds of breaks and errors that older releases do not tell of, or word otherwise.
NEWEST = (2, 13)


@pytest.fixture(scope="module")
def programs(torch):
    spec = importlib.util.spec_from_file_location("asked", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ASKED


def test_every_program_has_its_line(torch, programs):
    assert sorted(programs) == sorted(NAMES)
    for name in NAMES:
        assert sum(line.endswith(f"# HERE {name}") for line in LINES) == 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_the_question_is_answered(name, torch, dynamo, programs, tmp_path, capsys):
    if torch_version() < NEWEST:
        pytest.skip("older releases word it otherwise")
    run, kind, cause, change, error = programs[name]
    gc.collect()
    with prepare_debug(tmp_path):
        if error is None:
            kept = run()
        else:
            with pytest.raises(Exception) as raised:
                run()
            assert type(raised.value).__name__ == error
    capture = load(tmp_path)
    findings = find(capture)
    told = "\n".join(explanation([capture], findings).splitlines()[:10])
    line = next(n for n, text in enumerate(LINES, 1) if text.endswith(f"# HERE {name}"))
    answers = [f for f in findings if f.kind == kind and cause in f.cause and change in f.remedy]
    assert [f.place.line for f in answers] == [line], told
    assert sentence(answers[0].cause) in told and not any(f.sure == "unknown" for f in findings)
    if error is None:
        del kept


def test_a_context_manager_and_the_call_that_creates_it_are_one_cause(torch, dynamo, tmp_path):
    if torch_version() < (2, 9):
        pytest.skip("this torch breaks at the call alone")
    options = SimpleNamespace(upcast=True)

    @torch.compile(backend="eager")
    def step(x):
        with unittest.mock.patch.object(options, "upcast", False):
            return x.double() if options.upcast else x.sin()

    with warnings.catch_warnings(), prepare_debug(tmp_path):
        warnings.simplefilter("ignore")
        step(torch.ones(3))
    capture = load(tmp_path)
    assert len(capture.of(Break)) == 2
    (found,) = [finding for finding in find(capture) if finding.kind == "break"]
    assert "context manager" in found.cause and found.remedy.startswith("enter it outside")
    assert len(found.keys) == 2


def test_most_kinds_of_breaks_that_torch_knows_are_told_in_other_than_its_words(torch):
    registry = Path(torch._dynamo.__file__).with_name("graph_break_registry.json")
    if torch_version() < NEWEST or not registry.exists():
        pytest.skip("needs torch's registry of breaks")
    program = Program(Capture(Path("."), 2, {}, {}, (), {}))
    unknown, known = [], 0
    for number, rows in json.loads(registry.read_text()).items():
        row = rows[-1] if isinstance(rows, list) else rows
        key, hints = CompileKey("0/0"), tuple(row["Hints"])
        event = Break(
            key,
            "",
            row["Gb_type"],
            number,
            hints,
            reason=row["Explanation"],
            context=row["Context"],
        )
        advice = advise(program, None, event)
        assert advice.cause
        unknown += [row["Gb_type"]] if advice.sure == "unknown" else []
        known += advice.sure != "unknown"
    assert known > len(unknown), unknown
