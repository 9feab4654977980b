"""The figures that each view of a capture shows, read off what it shows."""

import contextlib
import html
import json
import re
from pathlib import Path
from typing import Any, Dict, List, Optional

from pellucid.dump.store.load import load_all
from pellucid.findings import find_all
from pellucid.findings.costs import compile_seconds
from pellucid.findings.summary import summary
from pellucid.findings.text import as_json, explanation
from pellucid.notebook.html import html_of
from pellucid.report import report

_NAMES = ("functions", "versions", "graphs", "breaks", "recompiles", "lines", "left_out")
_WORDS = {
    "functions": r"(\d+) functions?\b",
    "versions": r"(\d+) versions?\b",
    "graphs": r"(\d+) graphs?\b(?! (?:break|file))",
    "breaks": r"(\d+) graph breaks?",
    "recompiles": r"(\d+) recompiles?",
}

Figures = Dict[str, int]


def read(text: str) -> Figures:
    """The figures in a text of a few words; what is not there is 0."""
    found = {name: re.search(words, text, re.IGNORECASE) for name, words in _WORDS.items()}
    figures = {name: int(match[1]) if match else 0 for name, match in found.items()}
    figures["versions"] = figures["versions"] or figures["functions"]
    share = re.search(r"(\d+) of (\d+) lines? compiled", text)
    figures["lines"] = int(share[1]) if share else 0
    figures["left_out"] = int(share[2]) - int(share[1]) if share else 0
    return figures


def _index(directory: Path) -> Figures:
    text = (directory / "index.md").read_text(encoding="utf-8")
    found = re.search(r"^## Findings\n\n(.*)$", text, re.MULTILINE)
    told = [line for line in text.splitlines() if "compiled" in line and " graph file" in line]
    only = re.findall(r"^(\d+ graphs?) \w+ compiled inside this capture", text, re.MULTILINE)
    return read(" ".join([found[1] if found else "", *told, *only]))


def _page(text: str) -> Figures:
    facts = re.search(r'<ul class="facts".*?</ul>', text, re.DOTALL)
    assert facts is not None
    return read(html.unescape(re.sub(r"<[^>]+>", "", facts[0])))


def _notebook(capture: Any) -> Figures:
    return read(html.unescape(re.sub(r"<[^>]+>", "", html_of(capture).partition("</p>")[0])))


def _counts(record: Dict[str, Any]) -> Figures:
    return {name: record["counts"][name] for name in _NAMES}


def views(directory: Path, page: Path) -> "Dict[str, Figures]":
    """The figures of each view of a dump; of several captures, those of each."""
    captures = load_all(directory)
    findings = find_all(captures)
    written = report(directory, out=page).read_text(encoding="utf-8")
    of_page = json.loads((page.parent / "findings.json").read_text(encoding="utf-8"))["captures"]
    ended = [line.text for line in summary(captures, findings, 10_000)]
    found = {
        "explain": read(explanation(captures, findings).splitlines()[0]),
        "JSON": _counts(json.loads(as_json(captures, findings))),
        "end of run": read(" ".join(x for x in ended if x.startswith(("Compiled", "Found")))),
    }
    if len(captures) == 1:
        found["index.md"] = _index(directory)
        found["page"] = _page(written)
        found["findings.json"] = _counts(of_page[0])
        found["notebook"] = _notebook(captures[0])
    return found


def disagreement(directory: Path, page: Path) -> Optional[str]:
    """What views of a dump disagree on, or that findings cost more than there is; else None."""
    found = views(directory, page)
    first = found["explain"]
    other = {name: figures for name, figures in found.items() if figures != first}
    if other:
        return f"{directory.name}: explain says {first}, {other}"
    captures = load_all(directory)
    whole = sum(sum(compile_seconds(capture).values()) for capture in captures)
    cost = sum(finding.cost.seconds or 0.0 for finding in find_all(captures))
    return f"{directory.name}: {cost} s of {whole} s" if cost > whole else None


def disagreements(directories: "List[Path]", out: Path) -> "List[str]":
    """The same of several dumps."""
    found = []
    for number, directory in enumerate(directories):
        with contextlib.suppress(FileExistsError):
            (out / str(number)).mkdir(parents=True)
        told = disagreement(directory, out / str(number) / "page.html")
        found += [told] if told else []
    return found
