"""Compiled code that torch saved, for the tests of `pellucid open`."""

import base64
import gzip
import zlib
from pathlib import Path
from typing import List

import pellucid
from pellucid import events

SAVED = Path(__file__).parent / "saved"
PROGRAM = Path(__file__).parent / "programs" / "saved.py"


def saved(name: str) -> bytes:
    return gzip.decompress((SAVED / f"{name}.gz").read_bytes())


def bundle(**contents: bytes) -> bytes:
    """Return contents as torch's save_cache_artifacts does."""

    def sized(data: bytes) -> bytes:
        return len(data).to_bytes(8, "big") + data

    body = (1).to_bytes(8, "big")
    for kind, data in contents.items():
        body += sized(base64.b64encode(kind.encode())) + (1).to_bytes(8, "big")
        body += sized(base64.b64encode(b"key")) + sized(data)
    return zlib.crc32(body).to_bytes(4, "big") + body


def problems(capture: pellucid.Capture) -> List[str]:
    return [f"{each.where}: {each.what}" for each in capture.of(events.Problem)]
