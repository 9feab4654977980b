# SPDX-License-Identifier: Apache-2.0
"""Compile every header of src/ and include/ alone: a layer that is one file hides missing includes.

Run it as `python tools/check_headers.py [BUILD]`; it prints one line for each header that lacks
something. The build tree (build/make) has the flags, and keeps which headers compiled: what has not
changed since, itself and all that it includes, is not compiled again.
"""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, List, Set

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = [ROOT / "src", ROOT / "include"]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
ERROR = re.compile(r"^(.+?):(\d+):\d+: (?:fatal )?error: (.*)", re.MULTILINE)

# Headers that many others include. For a run of all headers they are precompiled: whoever includes
# one, however deep, starts from it, and sees nothing more than without. The largest come first.
HUBS = [
    "verify/lower/unit.h",
    "structure/graph/graph.h",
    "flow/graph.h",
    "ast/tree.h",
    "object/code.h",
]
MANY = 30


def texts_of(folders: List[Path]) -> Dict[str, str]:
    """Return the text of everything that can be included."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.suffix in {".h", ".def", ".inc"}
    }


def parts_of(name: str, texts: Dict[str, str]) -> Set[str]:
    """Return a header with everything of ours that it includes, however deep."""
    reached: Set[str] = set()
    todo = [name]
    while todo:
        current = todo.pop()
        if current in texts and current not in reached:
            reached.add(current)
            todo.extend(INCLUDE.findall(texts[current]))
    return reached


def key_of(command: List[str], name: str, texts: Dict[str, str]) -> str:
    """Return what stays the same as long as a header need not be compiled again."""
    parts = [(part, texts[part]) for part in sorted(parts_of(name, texts))]
    return hashlib.sha256(repr((command, name, parts)).encode()).hexdigest()


def compile_alone(command: List[str], name: str, *before: str) -> str:
    """Return what is wrong with a header that is the only one of a file; empty if nothing is."""
    done = subprocess.run(
        [*command, *before, "-fsyntax-only", "-x", "c++", "-"],
        input=f'#include "{name}"\n'.encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode == 0:
        return ""
    output = done.stdout.decode(errors="replace")
    error = ERROR.search(output)
    reason = f"{error[3]} (line {error[2]} of {error[1]})" if error else output
    return f"{name} does not compile alone: {reason}"


def precompile(command: List[str], name: str, folder: str) -> str:
    """Precompile a header; return the file that includes it."""
    path = os.path.join(folder, name.replace("/", "_"))
    Path(path).write_text(f'#include "{name}"\n', encoding="utf-8")
    subprocess.run(
        [*command, "-x", "c++-header", path, "-o", f"{path}.gch"],
        stderr=subprocess.DEVNULL,  # what is wrong with it, it says when it is compiled alone
        check=False,
    )
    return path


def command_of(entries: List[Dict[str, str]], target: str) -> List[str]:
    """Return the compiler and the flags of a target; empty where it is not built."""
    for entry in entries:
        if f"/{target}.dir/" in entry["command"]:
            words = shlex.split(entry["command"])
            return [word for word in words[: words.index("-o")] if Path(word).name != "ccache"]
    return []


def main(build: Path) -> int:
    """Print what is wrong; return the exit code."""
    entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    library, extension = command_of(entries, "pellucid_base"), command_of(entries, "_core")
    if not extension:
        print("src/python: the extension is not built, left out")
    texts = texts_of(FOLDERS)
    commands = {
        name: extension if name.startswith("python/") else library
        for name in texts
        if name.endswith(".h") and (extension or not name.startswith("python/"))
    }
    keys = {name: key_of(command, name, texts) for name, command in commands.items()}
    kept = build / "headers_alone.json"
    passed = set(json.loads(kept.read_text(encoding="utf-8"))) if kept.exists() else set()
    todo = [name for name in commands if keys[name] not in passed]
    hubs = HUBS if len(todo) > MANY else []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        files = dict(zip(hubs, pool.map(lambda hub: precompile(library, hub, folder), hubs)))

        def check(name: str) -> str:
            parts = parts_of(name, texts) - {name}
            hub = next((hub for hub in hubs if hub in parts), None)
            before = ["-include", files[hub]] if hub and commands[name] == library else []
            return compile_alone(commands[name], name, *before)

        found = dict(zip(todo, pool.map(check, todo)))
    kept.write_text(json.dumps([keys[name] for name in commands if not found.get(name)]))
    problems = [problem for problem in found.values() if problem]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "make"))
