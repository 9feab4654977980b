# SPDX-License-Identifier: Apache-2.0
"""Say what is new in a Python or a torch that pellucid does not know: `make canary`.

    python3.15 tools/canary              # this interpreter, and its torch if it has one
    python3.15 tools/canary --accept     # what is there is known from now on
    python3.15 tools/canary --root TREE  # against the tables of another tree of the sources

What is new is printed below the file to edit for it; the exit code is then 1. The part about
Python needs nothing but the interpreter itself, and pellucid need not be built for it.
"""

import argparse
import importlib.util
import json
import platform
import sys
from pathlib import Path
from typing import Any, Dict, List

sys.path.insert(0, str(Path(__file__).resolve().parent))
from interpreter import VERSION, News, news, record
from tables import Tables, Version

ROOT = Path(__file__).resolve().parents[2]


def known_versions(folder: Path) -> Dict[Version, Path]:
    """Return the records of versions, by version."""
    found = {}
    for path in folder.glob("python-*.json"):
        major, minor = path.stem.rpartition("-")[2].split(".")
        found[int(major), int(minor)] = path
    return found


def record_to_compare(folder: Path) -> Dict[str, Any]:
    """Return the record of this version, or else of the newest before it; empty if none is."""
    known = known_versions(folder)
    earlier = [version for version in known if version <= VERSION]
    if not earlier:
        return {}
    found: Dict[str, Any] = json.loads(known[max(earlier)].read_text(encoding="utf-8"))
    return found


def show(title: str, found: List[News]) -> None:
    """Print what is new, below the file to edit for it."""
    count = "%d thing%s new" % (len(found), " is" if len(found) == 1 else "s are")
    print("%s: %s" % (title, count if found else "nothing is new"))
    for file in dict.fromkeys(item.file for item in found):
        print("\n  %s" % file)
        for item in found:
            if item.file == file:
                print("    %s" % item.what)
    if found:
        print()


def write(path: Path, value: Any) -> None:
    """Write a record, a line for each thing."""
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(value, indent=0, sort_keys=True, ensure_ascii=True)
    path.write_text(text + "\n", encoding="utf-8")
    print("wrote %s" % path)


def main() -> int:
    """Return 1 where something is new."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree with the tables")
    parser.add_argument("--known", type=Path, help="the folder of records")
    parser.add_argument("--accept", action="store_true", help="record what is there as known")
    parser.add_argument("--only", choices=["python", "torch"], help="one of the two parts")
    parser.add_argument("--no-capture", action="store_true", help="capture no program of torch's")
    arguments = parser.parse_args()
    folder = arguments.known or arguments.root / "tools" / "canary" / "known"
    status = 0
    if arguments.only != "torch":
        if arguments.accept:
            write(folder / ("python-%d.%d.json" % VERSION), record())
        else:
            before = record_to_compare(folder)
            if not before:
                print("no record of %d.%d or older: compared with the tables only" % VERSION)
            found = news(Tables(arguments.root), before)
            show("CPython %s" % platform.python_version(), found)
            status |= bool(found)
    if arguments.only == "python":
        return status
    if importlib.util.find_spec("torch") is None:
        print("torch: not installed for this Python, so nothing is said of it")
        return status
    import torch_side

    if arguments.accept:
        path = folder / "torch.json"
        write(path, torch_side.accept(torch_side.known(path)))
        return status
    found = torch_side.news(arguments.root, torch_side.known(folder / "torch.json"))
    if not arguments.no_capture:
        found += torch_side.captured_news(arguments.root)
    show("torch %s" % torch_side.version(), found)
    return status | bool(found)


if __name__ == "__main__":
    sys.exit(main())
