# SPDX-License-Identifier: Apache-2.0
"""What is expected of each entry: gallery/metadata.json, and the comparison with it."""

import json
import sys
from pathlib import Path
from typing import Any, Dict, List

Record = Dict[str, Any]
PATH = Path(__file__).resolve().parents[1] / "metadata.json"
_COUNTS = ("frames", "graphs", "breaks", "recompiles")


def versions() -> Dict[str, str]:
    """The Python and the torch that counts and findings depend on."""
    import torch

    return {
        "python": ".".join(map(str, sys.version_info[:2])),
        "torch": ".".join(str(torch.__version__).split(".")[:2]),
    }


def read() -> Record:
    """What is expected."""
    found: Record = json.loads(PATH.read_text(encoding="utf-8"))
    return found


def expectation(record: Record) -> Record:
    """What the metadata says of an entry that was built."""
    kept = {key: record[key] for key in ("family", "replay")}
    if "frames" in record:
        kept.update({key: record[key] for key in _COUNTS})
        # How long a compile takes is another machine's to say.
        kept["findings"] = [f["id"] for f in record["findings"] if f["kind"] != "slow"]
    if record["replay"] != "identical":
        kept["why"] = record.get("why", "")
    return kept


def differences(record: Record, expected: Record) -> List[str]:
    """How an entry that was built is other than expected; why it does not run may be put anew."""
    found = expectation(record)
    keys = [key for key in {**expected, **found} if key != "why"]
    return [
        f"{record['name']}: {key} is {found.get(key)}, expected {expected.get(key)}"
        for key in keys
        if found.get(key) != expected.get(key)
    ]


def update(records: List[Record]) -> None:
    """Write what was built as what is expected from now on; the rest stays."""
    known = read()["entries"] if PATH.exists() else {}
    known.update({record["name"]: expectation(record) for record in records})
    ordered = dict(sorted(known.items()))
    text = json.dumps({**versions(), "entries": ordered}, indent=1, ensure_ascii=False)
    PATH.write_text(text + "\n", encoding="utf-8")
