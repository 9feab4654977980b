"""The JSON of findings: documented, versioned, and what `explain --json` really prints."""

import json
from pathlib import Path

import gen_findings
import pellucid
import pytest
from needs import ROOT
from pellucid.findings.remedy import Outcome, Trial, setting, tried
from pellucid.findings.text import SCHEMA, as_json

CAPTURE = ROOT / "tests" / "torch" / "schema_1"


def test_every_field_has_words():
    assert gen_findings.undocumented() == []


@pytest.mark.parametrize("part", ["document", "schema"])
def test_the_files_are_what_the_classes_say(part):
    path = {"document": gen_findings.DOCUMENT, "schema": gen_findings.JSON_SCHEMA}[part]
    made = getattr(gen_findings, part)()
    assert path.read_text(encoding="utf-8") == made, "run python tools/gen_findings.py"


def printed(**changes):
    """What `explain --json` prints of a capture, and of a finding whose remedy was tried."""
    capture, place = pellucid.load(CAPTURE), pellucid.events.Place("/home/me/toy.py", 5, "toy")
    run = Outcome(1, 2, 0.5)
    remedy = tried(setting("torch.x = 1"), Trial("works", "", run, run, 0.0, 3))
    own = pellucid.Finding("break:toy.py:5", "break", place, "x", "it is so", remedies=(remedy,))
    return {**json.loads(as_json([capture], [own, *pellucid.find(capture)])), **changes}


def test_what_is_printed_is_as_the_schema_says():
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(Path(gen_findings.JSON_SCHEMA).read_text(encoding="utf-8"))
    check = jsonschema.Draft202012Validator(schema)
    record = printed()
    assert record["schema"] == SCHEMA and len(record["findings"]) > 1
    assert list(check.iter_errors(record)) == []
    wrong = printed(counts={}, schema=SCHEMA + 1)
    wrong["findings"][0]["place"] = "toy.py:5"
    assert len(list(check.iter_errors(wrong))) > 5
    assert list(check.iter_errors(printed(more="a field of a newer version"))) == []
