# SPDX-License-Identifier: Apache-2.0
"""Record the steps of a proof so that another program can check it.

That program is `tools/check_certificate`. It shares no code with pellucid. From a certificate it
only reads the pairs of places in both bytecodes between which the proof proceeds step by step.
"""

import hashlib
import json
from typing import Dict, List, Tuple

from pellucid.errors import NoCertificate
from pellucid.result import Decompilation
from pellucid.verdicts import Verdict

FORMAT = "pellucid certificate 1"
OLDEST = (3, 12)


def certificate(pyc: bytes, found: Decompilation, verdict: Verdict) -> str:
    """Return the certificate of a file's verdict, as JSON.

    Raises NoCertificate if there is none: the file is not proven, its text was not compiled by a
    Python of its version, or that version is older than 3.12.
    """
    if found.version < OLDEST:
        raise NoCertificate("no certificate: the checker knows Python 3.12 and later")
    if verdict.status == "unproven":
        raise NoCertificate("no certificate: the file is not proven")
    if verdict.tier != "recompiled":
        version = "{}.{}".format(*found.version)
        raise NoCertificate(f"no certificate: no Python {version} was found to compile the text")
    said = {
        "format": FORMAT,
        "python": "{}.{}".format(*found.version),
        "code": hashlib.sha256(pyc).hexdigest(),
        "text": hashlib.sha256(found.source.encode("utf-8", "surrogatepass")).hexdigest(),
        "meetings": _meetings(found.meetings()),
    }
    return json.dumps(said, separators=(",", ":")) + "\n"


def _meetings(
    walked: "List[Tuple[str, List[Tuple[int, int]]]]",
) -> "Dict[str, List[Tuple[int, int]]]":
    """Return the pairs of each path, except paths whose pairs all have equal offsets."""
    told = {path for path, pairs in walked if any(x != y for x, y in pairs)}
    meetings: Dict[str, List[Tuple[int, int]]] = {}
    for path, pairs in walked:
        if path in told:
            meetings[path] = sorted({*meetings.get(path, ()), *pairs})
    return meetings
