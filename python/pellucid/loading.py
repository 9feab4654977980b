# SPDX-License-Identifier: Apache-2.0
"""What loading a pickle would do, without loading it: the first part of `pellucid inspect`."""

import json
import os
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

from pellucid import containers
from pellucid.errors import DecompileError

Loads = List[Tuple[Path, Dict[str, Any], str]]


def loads_in(given: str) -> Loads:
    """Return the pickles of a file or a folder: path, plain values, text.

    Whatever cannot be read is left out: its job reports why.
    """
    found: Loads = []
    for path in _files(Path(given)):
        try:
            if path.is_file() and path.stat().st_size <= containers.LARGEST_FILE:
                found += [(path, load, text) for load, text in containers.loads(path)]
        except (OSError, ValueError, DecompileError):
            continue
    return found


def _files(given: Path) -> Iterator[Path]:
    if not given.is_dir():
        yield given
        return
    for folder, folders, files in os.walk(given):
        folders.sort()
        yield from (Path(folder, name) for name in sorted(files) if not name.endswith(".py"))


def as_json(path: Path, load: Dict[str, Any]) -> str:
    """Return one line of JSON."""
    return json.dumps({"file": str(path), "error": None, "pickle": load}) + "\n"
