"""The findings of a capture as the page and ``findings.json`` write them."""

from __future__ import annotations

import importlib
import os
from dataclasses import asdict, is_dataclass
from typing import Any, Dict, List

from pellucid.torch.model.capture import Capture
from pellucid.torch.model.events import Break, Place, Recompile, Skipped

from .users import break_place

NOT_FOUND = "torch's text, without advice"


def shown(capture: Capture) -> List[Dict[str, Any]]:
    """Return the findings, the dearest first, as plain values."""
    try:
        find = importlib.import_module("pellucid.findings").find
    except (ImportError, AttributeError):
        return _plain(capture)
    return [_values(finding) for finding in find(capture)]


def _values(finding: Any) -> Dict[str, Any]:
    values = {name: _json(value) for name, value in vars(finding).items()}
    values.setdefault("shown", False)
    return values


def _json(value: Any) -> Any:
    if isinstance(value, Place):
        return {"file": value.file, "line": value.line, "function": value.function}
    if is_dataclass(value) and not isinstance(value, type):
        return {name: _json(each) for name, each in asdict(value).items()}
    if isinstance(value, (list, tuple)):
        return [_json(each) for each in value]
    return value


def _plain(capture: Capture) -> List[Dict[str, Any]]:
    """List what stopped torch, for a capture whose causes nobody has looked for."""
    made: Dict[Any, Dict[str, Any]] = {}
    for event in capture.of(Break):
        place = break_place(event)
        cause = event.title.partition(" — ")[0]
        _add(made, "break", place, cause, event.explanation, str(event.key))
    for left in capture.of(Skipped):
        _add(made, "eager", left.place, left.brief, left.reason, str(left.key))
    frames = {str(f.key): f.place for f in capture.events if hasattr(f, "verdict")}
    for again in capture.of(Recompile):
        text = "\n".join(again.reasons)
        first = again.reasons[0].partition(": ")[2].partition("  # ")[0] if again.reasons else ""
        place = frames.get(str(again.key))
        _add(made, "recompile", place, first or "a guard failed", text, str(again.key))
    return list(made.values())


def _add(
    made: Dict[Any, Dict[str, Any]],
    kind: str,
    place: Place | None,
    cause: str,
    quoted: str,
    key: str,
) -> None:
    where = f"{os.path.basename(place.file)}:{place.line}" if place else ""
    entry = made.setdefault(
        (kind, where, cause),
        {
            "id": f"{kind}-{where}" if where else f"{kind}-{key}",
            "kind": kind,
            "place": _json(place),
            "code": "",
            "cause": cause,
            "quoted": quoted,
            "remedy": "",
            "diff": "",
            "sure": "unknown",
            "cost": {"seconds": None, "graphs": 0, "eager_calls": None},
            "count": 0,
            "keys": [],
            "links": [],
        },
    )
    entry["count"] += 1
    if key not in entry["keys"]:
        entry["keys"].append(key)
