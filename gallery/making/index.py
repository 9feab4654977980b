# SPDX-License-Identifier: Apache-2.0
"""The index of what was built: one page that needs nothing beside it, and the same as JSON."""

import html
import json
import re
from pathlib import Path
from typing import Any, Dict, List

Record = Dict[str, Any]
_TEMPLATE = Path(__file__).resolve().parent / "index.html"
_ROW = """\
<tr id="{id}">
<td><a href="{folder}/dump/page.html">{name}</a>
<p>{title}</p><p class="about">{about}</p>{found}</td>
<td>{family}</td><td class="n">{frames}</td><td class="n">{graphs}</td><td class="n">{breaks}</td>
<td class="n">{recompiles}</td><td class="n">{nodes}</td>
<td><span class="state {state}">{replay}</span>{why}</td>
<td class="files"><a href="{folder}/program.py">program.py</a> <a href="{folder}/run.py">run.py</a>
<a href="{folder}/dump/index.md">dump</a></td>
</tr>"""


def write_index(records: List[Record], out: Path) -> None:
    """Write index.html and index.json."""
    text = json.dumps(records, indent=1, ensure_ascii=False)
    (out / "index.json").write_text(text + "\n", encoding="utf-8")
    keys = ("name", "kind", "family", "backend", "about", "title", "nodes", "operations")
    shown = []
    for record in records:
        kept = {key: record.get(key, [] if key == "operations" else "") for key in keys}
        kept["findings"] = [finding["kind"] for finding in record.get("findings", ())]
        kept["words"] = " ".join(finding["cause"] for finding in record.get("findings", ()))
        kept["replay"] = record["replay"]
        shown.append(kept)
    # In a script element only "</" and "<!--" would be read as anything but text.
    data = json.dumps(shown, ensure_ascii=False).replace("<", "\\u003c")
    rows = "\n".join(map(_row, records))
    page = _TEMPLATE.read_text(encoding="utf-8")
    page = page.replace("<!-- rows -->", rows).replace("/* entries */", f"const ENTRIES = {data};")
    (out / "index.html").write_text(page.replace("<!-- count -->", str(len(records))), "utf-8")


def _row(record: Record) -> str:
    text = {key: html.escape(str(record.get(key, ""))) for key in _COLUMNS}
    text.update({key: _worded(record[key]) for key in ("title", "about")})
    state = record["replay"].replace(" ", "-")
    causes = [
        f'<li><b class="{html.escape(f["kind"])}">{html.escape(f["kind"])}</b> '
        f"{_worded(f['cause'])}</li>"
        for f in record.get("findings", ())
    ]
    found = f"<ul>{''.join(causes)}</ul>" if causes else ""
    why = f'<p class="why">{html.escape(record["why"])}</p>' if record.get("why") else ""
    return _ROW.format(**text, id=f"e-{text['name']}", state=state, found=found, why=why)


def _worded(text: str) -> str:
    """A sentence as HTML; what stands in backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


_COLUMNS = (
    *("name", "family", "folder"),
    *("frames", "graphs", "breaks", "recompiles", "nodes", "replay"),
)
