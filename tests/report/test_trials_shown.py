"""What trials of remedies showed is kept with the capture, and each view shows it."""

import json
from pathlib import Path

import pellucid
from dumps import small
from pellucid.findings import find
from pellucid.findings.remedy import Remedy, Trial, setting, tried
from pellucid.findings.remembered import forget, remember, with_trials
from pellucid.findings.text import explanation
from pellucid.notebook.html import capture_html
from pellucid.report import page_of, report, shrink
from pellucid.report.page import html_of


def test_trials_are_kept_and_shown_in_each_view(tmp_path: Path) -> None:
    dump = small(tmp_path / "dump")
    capture = pellucid.load(dump)
    first = find(capture)[0]
    tries = (("works", ""), ("does not help", "the program then raises ValueError"))
    edit = Remedy("leave the test out", "edit", "", "@@ -3 +3 @@\n-    if b:\n+    if True:\n")
    chosen = (setting("torch.a.config.x = 1"), setting("torch.a.config.y = 2"), edit)
    assert with_trials(dump, [first]) == [first]
    made = first.with_remedies(chosen)
    done = [tried(remedy, Trial(*trial)) for remedy, trial in zip(chosen[1::-1], tries)]
    remember(dump, [first.with_remedies(done)])
    again = with_trials(dump, [made])[0]
    assert [r.status for r in again.remedies] == ["works", "suggestion", "does not help"]
    assert forget([again])[0].remedies[0].trial is None
    remember(dump, [first.with_remedies([tried(r, Trial("works")) for r in first.remedies])])
    assert len(json.loads((dump / "trials.json").read_text())["trials"]) == 2 + len(first.remedies)
    shown = report(dump).read_text(encoding="utf-8")
    assert '<span class="trial good">tried: works</span>' in shown
    assert '<span class="trial soft">suggestion</span>' in shown  # of a finding not tried
    assert "<span class='mark good'>tried: works</span>" in capture_html(capture)
    assert "Tried: works." in explanation([capture], find(capture))
    (dump / "session.json").write_bytes((dump / "session.json").read_bytes() + b"\n")
    assert "tried: works" not in report(dump).read_text(encoding="utf-8")  # of what was here before


def test_a_redacted_page_has_no_line_in_a_remedy(tmp_path: Path) -> None:
    page = page_of([small(tmp_path / "dump")])
    edit = {"words": "leave it out", "kind": "edit", "diff": "-    hidden_line = 1\n"}
    page.views[0].findings[0].update(remedies=[edit], diff=edit["diff"])
    shrink.redact(page)
    assert "hidden_line" not in html_of(page, redacted=True)
