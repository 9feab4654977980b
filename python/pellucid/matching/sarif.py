# SPDX-License-Identifier: Apache-2.0
"""Export of matches as a SARIF 2.1.0 log for code scanners."""

from __future__ import annotations

from typing import Any, Iterable
from urllib.parse import quote

from pellucid._version import __version__
from pellucid.matching.judge import DIFFERS, NO_SOURCE, UNPROVEN, Match
from pellucid.matching.pairs import Pair

_RULES = {
    DIFFERS: ("error", "The .pyc does something different from its source."),
    UNPROVEN: ("warning", "It is not known whether the .pyc comes from its source."),
    NO_SOURCE: ("note", "The .pyc has no source, or its source cannot be parsed."),
}


def log(found: Iterable[tuple[Pair, Match]]) -> dict[str, Any]:
    """Return the log: one result for each `.pyc` that does not come from its source."""
    rules = [
        {
            "id": _id(status),
            "shortDescription": {"text": text},
            "defaultConfiguration": {"level": level},
        }
        for status, (level, text) in _RULES.items()
    ]
    return {
        "version": "2.1.0",
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json",
        "runs": [
            {
                "tool": {
                    "driver": {"name": "pellucid", "version": __version__, "rules": rules},
                },
                "results": [_result(pair, match) for pair, match in found if not match],
            }
        ],
    }


def _id(status: str) -> str:
    return "pyc-" + status.replace(" ", "-")


def _result(pair: Pair, match: Match) -> dict[str, Any]:
    level, text = _RULES[match.status]
    differs = match.status == DIFFERS
    # The reason of a difference is in terms of bytecode: the diff is shown instead.
    parts = [text, match.function and f"In {match.function}:", "" if differs else match.reason]
    message = " ".join(filter(None, parts)) + (f"\n{match.diff}" if differs else "")
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(pair.pyc.name)}}
    related = []
    if match.status != NO_SOURCE:
        where: dict[str, Any] = {"artifactLocation": {"uri": quote(pair.source_name)}}
        if match.line:
            where["region"] = {"startLine": match.line}
        related = [{"physicalLocation": where}]
    result: dict[str, Any] = {
        "ruleId": _id(match.status),
        "level": level,
        "message": {"text": message},
        "locations": [{"physicalLocation": place}],
    }
    if related:
        result["relatedLocations"] = related
    return result
