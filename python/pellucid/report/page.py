# SPDX-License-Identifier: Apache-2.0
"""One page: the model, the scripts and the styles in one HTML file that asks for nothing else."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

from jinja2 import Environment, FileSystemLoader, Template

from pellucid._version import __version__
from pellucid.dump.model.events import Place
from pellucid.dump.model.phases import OWNERS
from pellucid.dump.store.values import value_of
from pellucid.findings.kinds import KINDS
from pellucid.findings.remedy import Remedy, Trial, has_failed, titled
from pellucid.findings.words import file_name, sentence, short

from .memory import memory_of
from .model import Page, View
from .timeline import compiles_of, elapsed, sums_of
from .values import chunks_of

_HERE = Path(__file__).parent
_SCRIPTS = (
    *("data.js", "link.js", "list.js", "search.js"),
    *("panes/code.js", "panes/guards.js", "panes/graph.js", "panes/timeline.js", "main.js"),
)
_MOST_FLOWS = 8
_TYPES = re.compile(r"/\*\* @type (?:[^*]|\*(?!/))*\*/ ?")

PANES = (
    ("findings", "Findings"),
    ("code", "Your code"),
    ("runs", "What runs"),
    ("guards", "Guards"),
    ("graph", "Graph"),
    ("kernels", "Kernels"),
)
KEYS = (
    ("j  k", "next and previous finding"),
    ("[  ]", "previous and next compiled version"),
    ("1 … 6", "a pane: findings, your code, what runs, guards, graph, kernels"),
    ("g", "show the graph as a list, an outline or blocks"),
    ("d", "compare the graph with a different stage"),
    ("/  Ctrl-K", "search; op:mm, line:toy.py:7, guard:size, kernel:, finding:, setting:, file:"),
    ("↑ ↓  Enter", "go through a list; pin a line and show what belongs to it"),
    ("Esc", "unpin the line"),
    ("y", "copy the pinned line as file:line"),
    ("t", "light or dark"),
    ("Space", "show all of a long line"),
)
_SURE = {
    "certain": "Certain.",
    "tried": "Checked against the recorded guards.",
    "likely": "Likely (judged from the source line).",
    "unknown": "",
}


def html_of(page: Page, editor: bool = False, redacted: bool = False) -> str:
    """Return the page as text."""
    style = style_text()
    script = script_text()
    return template(_HERE / "templates" / "page.html").render(
        title=page.title,
        version=__version__,
        style=style,
        script=script,
        style_hash=hash_of(style),
        script_hash=hash_of(script),
        views=[_shown(view, editor) for view in page.views],
        panes=PANES,
        owners=OWNERS,
        keys=KEYS,
        chunks=list(chunks_of(page)),
        dropped=page.dropped,
        redacted=redacted,
        made=f"pellucid {__version__}; {_versions(page)}",
    )


def template(file: Path) -> Template:
    """Return the template of a page; what is put into it is escaped."""
    environment = Environment(
        loader=FileSystemLoader(str(file.parent)),
        autoescape=True,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(file.name)


def script_text() -> str:
    """Return the scripts as the page holds them: without their comments of whole lines."""
    parts = [(_HERE / "static" / name).read_text(encoding="utf-8") for name in _SCRIPTS]
    kept = ["'use strict';"]
    inside = False
    for line in "\n".join(parts).split("\n"):
        text = line.strip()
        if inside:
            inside = "*/" not in text
            continue
        text = _TYPES.sub("", text)
        if text.startswith("/**"):
            inside = "*/" not in text
        elif text and text != "'use strict';" and not text.startswith("//"):
            kept.append(text)
    return "\n".join(kept) + "\n"


def style_text() -> str:
    """Return the styles as the page holds them."""
    return squeezed((_HERE / "static" / "page.css").read_text(encoding="utf-8"))


def squeezed(style: str) -> str:
    """Return styles without comments and indentation."""
    return re.sub(r"\n\s*", "\n", re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)).strip()


def hash_of(text: str) -> str:
    """Return what allows a script or a style in a page's content policy."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _versions(page: Page) -> str:
    versions = page.views[0].capture.versions if page.views else {}
    return ", ".join(
        f"{name} {version}" for name, version in versions.items() if name != "pellucid"
    )


def _shown(view: View, editor: bool) -> Dict[str, Any]:
    flows = list(_flows(view))
    return {
        "label": view.label,
        "facts": list(_facts(view)),
        "about": list(_about(view)),
        "date": view.capture.date,
        "flows": flows[:_MOST_FLOWS],
        "more_flows": max(0, len(flows) - _MOST_FLOWS),
        "findings": [_finding(view, finding, editor) for finding in view.findings],
        "table": list(_table(view)),
        "sums": sums_of(view.capture),
        "compiles": compiles_of(view.capture),
        "memory": list(memory_of(view)),
    }


def _facts(view: View) -> Iterator[Dict[str, str]]:
    counts = view.counts
    if len(view.names) > 1 or view.label:
        yield {
            "kind": "again",
            "number": view.label,
            "words": "alike" if len(view.names) > 1 else "",
        }
    if not counts.functions and not counts.graphs:
        yield {"kind": "bad", "number": "Nothing", "words": "was compiled"}
        return
    yield _fact("", counts.functions, "function", "functions")
    if counts.versions > counts.functions:
        yield _fact("", counts.versions, "version", "versions")
    yield _fact("", counts.graphs, "graph", "graphs")
    breaks, recompiles = counts.breaks, counts.recompiles
    yield _fact("bad" if breaks else "good", breaks, "graph break", "graph breaks")
    yield _fact("again" if recompiles else "good", recompiles, "recompile", "recompiles")
    if counts.of_lines:
        number, _, words = counts.of_lines.partition(" ")
        yield {"kind": "" if counts.left_out else "good", "number": number, "words": words}


def _about(view: View) -> Iterator[str]:
    """Yield what an issue needs first: the versions, the date, and how long it took."""
    versions = view.capture.versions
    for name, key in (("torch", "torch"), ("Python", "python")):
        if versions.get(key):
            yield f"{name} {versions[key]}"
    if view.capture.date:
        yield view.capture.date.partition(" ")[0]
    if view.bars:
        yield f"compile time {elapsed(view.bars):.1f} s"


def _fact(kind: str, number: int, one: str, many: str) -> Dict[str, str]:
    return {"kind": kind, "number": str(number), "words": one if number == 1 else many}


def _flows(view: View) -> Iterator[Dict[str, Any]]:
    """Yield what runs of each function: its graphs, and the breaks between them."""
    resumed: Dict[Tuple[str, str], List[Tuple[int, Any]]] = {}
    roots = []
    for function in view.functions:
        found = re.match(r"(.*?), resumed after line (\d+)", function.name)
        if found:
            resumed.setdefault((found[1], function.path), []).append((int(found[2]), function))
        else:
            roots.append(function)
    known = {(function.name, function.path) for function in roots}
    for function in roots:
        later = sorted(resumed.get((function.name, function.path), ()), key=lambda pair: pair[0])
        parts = [_part(function)]
        for line, other in later:
            parts += [_cut(function.path, line), _part(other)]
        yield {"name": function.name, "parts": parts}
    for (name, path), later in resumed.items():
        if (name, path) not in known:
            parts = []
            for line, other in later:
                parts += [_cut(path, line), _part(other)]
            yield {"name": name, "parts": parts}
    for place, why in _left(view):
        about = {"kind": "left", "words": "not compiled", "about": why, "key": ""}
        name = re.sub(r".*/", "", place)
        yield {"name": name or "a frame", "parts": [about]}


def _left(view: View) -> List[Tuple[str, str]]:
    from pellucid.dump.model.events import Skipped

    return list(
        dict.fromkeys((str(s.place or ""), s.brief) for s in view.capture.of(Skipped) if s.place)
    )


def _part(function: Any) -> Dict[str, Any]:
    versions = function.versions
    operations = versions[0].operations if versions else 0
    times = f" · {len(versions)} versions" if len(versions) > 1 else ""
    made = f"graph, {operations} operation{'s' if operations != 1 else ''}"
    if not operations:
        is_before = versions and versions[0].before
        made = "compiled before the capture" if is_before else "no graph"
    return {
        "kind": "ran" if operations else "left",
        "words": made + times,
        "about": f"{function.name}: " + ", ".join(f"[{v.key}] {v.verdict}" for v in versions),
        "key": versions[0].key if versions else "",
    }


def _cut(path: str, line: int) -> Dict[str, Any]:
    words = f"✕ line {line}"
    return {"kind": "cut", "words": words, "about": "graph break", "file": path, "line": line}


def _finding(view: View, finding: Dict[str, Any], editor: bool) -> Dict[str, Any]:
    place, kind = finding.get("place"), KINDS[finding["kind"]]
    code = finding.get("code") or _code(view, place)
    if finding.get("lines"):
        code = "\n".join(_line(line["place"], line["code"]) for line in finding["lines"])
    return {
        "tone": kind.tone,
        "title": finding.get("title") or kind.words[0].upper() + kind.words[1:],
        "file": file_name(place["file"]) if place else "",
        "line": place["line"] if place else 0,
        "path": place["file"] if place else "",
        "editor": f"vscode://file{place['file']}:{place['line']}" if editor and place else "",
        "times": f"×{finding['count']}" if finding.get("count", 1) > 1 else "",
        "cost": " · ".join(_cost(finding)),
        "cause": _sentence(finding["cause"]),
        "code": code.strip() if finding.get("lines") or not finding["diff"] else "",
        "remedies": list(_remedies(finding)),
        "sure": _sure(finding),
        "quoted": finding.get("quoted", ""),
        "quotes": "PyTorch’s message" if kind.quotes_torch else "Details",
        "links": list(_links(view, finding)),
    }


_TITLES = {"change": "What to change", "or": "Or", "not": "Not"}
_MARKS = {"works": "good", "helps": "warn", "suggestion": "soft"}


def _remedies(finding: Dict[str, Any]) -> Iterator[Dict[str, Any]]:
    """Yield each remedy with what came of it: those that work first, those that failed last."""
    for title, remedy in titled([value_of(Remedy, r) for r in finding.get("remedies", ())]):
        trial = remedy.trial or Trial(remedy.status)
        yield {
            "title": _TITLES.get(title, ""),
            "words": _sentence(sentence(remedy.told)),
            "diff": [] if has_failed(remedy) else _diff(remedy.diff),
            "status": trial.title if title or remedy.trial is not None else "",
            "mark": _MARKS.get(remedy.status, "bad"),
            "detail": trial.detail,
        }


def _line(place: Dict[str, Any], code: str) -> str:
    return f"{_short(place['file'], place['line'])}  {code}".rstrip()


def _short(file: str, line: int) -> str:
    return short(Place(file, line))


def _links(view: View, finding: Dict[str, Any]) -> Iterator[Dict[str, Any]]:
    seen: set[Tuple[str, int]] = set()
    for link in finding.get("links", ()):
        number = view.files.number.get(link["file"])
        if number is not None and (link["file"], link["line"]) not in seen and len(seen) < 6:
            seen.add((link["file"], link["line"]))
            key = view.files.files[number].key
            what = link["what"] or view.files.files[number].kind
            what = "what runs" if what == "runs" else what
            yield {**link, "what": f"{what} [{key}]" if key and "[" not in what else what}


def _sentence(text: str) -> List[Tuple[bool, str]]:
    """Return the parts of a sentence, and which are code: what stands between backticks."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        parts = [text]
    if parts[0] and not re.match(r"\w+[._]\w", parts[0]):  # a name is as it is
        parts[0] = parts[0][0].upper() + parts[0][1:]
    return [(i % 2 == 1, part) for i, part in enumerate(parts) if part]


def _code(view: View, place: Dict[str, Any] | None) -> str:
    for user in view.users:
        if place and user.path == place["file"] and place["line"] in user.index:
            return user.lines[user.index[place["line"]]]
    return ""


def _sure(finding: Dict[str, Any]) -> str:
    sure = str(finding.get("sure", ""))
    if sure == "likely" and finding["kind"] == "recompile":
        return "Likely."  # the guard says it, and no line was judged
    return _SURE.get(sure, sure)


def _cost(finding: Dict[str, Any]) -> Iterator[str]:
    cost = finding.get("cost") or {}
    if cost.get("seconds"):
        yield f"{cost['seconds']:.1f} s of compile time"


def _diff(text: str) -> List[Tuple[str, str]]:
    lines = [line for line in text.split("\n") if line]
    lines = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    bodies = [line[1:] for line in lines if line[1:].strip()]
    margin = min((len(body) - len(body.lstrip()) for body in bodies), default=0)
    kinds = {"+": "plus", "-": "minus"}
    return [(kinds.get(line[0], "same"), f"{line[0]} {line[1 + margin :]}") for line in lines]


def _table(view: View) -> Iterator[Tuple[str, ...]]:
    for function in view.functions:
        for version in function.versions:
            yield (
                version.key,
                function.name,
                _short(function.path, function.line),
                version.verdict + (f": {version.reason}" if version.reason else ""),
                "its file" if version.swapped else "torch's own code",
                str(version.operations),
                "; ".join(" ".join(text.split()) for text in version.recompiled),
            )
