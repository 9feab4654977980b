# SPDX-License-Identifier: Apache-2.0
"""The data of a page: gzipped JSON and gzipped numbers, in base64, the same for the same model."""

from __future__ import annotations

import base64
import gzip
import io
import json
import sys
from array import array
from typing import Any, Iterable


def of_json(value: Any) -> str:
    """Return a value as a chunk."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return _packed(text.encode("ascii"))


def of_numbers(numbers: Iterable[int]) -> str:
    """Return numbers as a chunk: each as the distance from the one before, which packs well."""
    last = 0
    steps = array("i")
    for number in numbers:
        steps.append(number - last)
        last = number
    if sys.byteorder == "big":
        steps.byteswap()
    return _packed(steps.tobytes())


def _packed(data: bytes) -> str:
    stream = io.BytesIO()
    # A fixed time and no name: equal models make equal pages.
    with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=stream, mtime=0) as file:
        file.write(data)
    return base64.b64encode(stream.getvalue()).decode("ascii")
