# SPDX-License-Identifier: Apache-2.0
"""Run the examples of the documentation, and compare what they print with what the pages say.

A page (README.md and docs/**/*.md) has comments, each before the block that is made of it:

    <!-- in: FOLDER -->              what follows works in a copy of docs/examples/FOLDER
    <!-- file: NAME -->              a file of that folder, of a notebook its cells
    <!-- run: COMMAND -->            a command line of bash and what it prints, as on a terminal
    <!-- show: PATH -->              a file that a command has written

Options stand in brackets before the colon, `<!-- run [status 1; first 10]: … -->`:

    status N      the command's exit code is N and not 0
    hidden        it is run, and the page does not show it
    input NAME    a file of the folder is its standard input
    first N       only so many lines are shown
    from TEXT     only what follows is shown, from the first line on that has the text
    to TEXT       only what stands before the next line that has the text
    as LANGUAGE   what the block is marked as; `text` shows what is printed without the command
    numbers       numbers differ from run to run, and are not compared

`docs_examples.py` runs all of it, prints what differs and exits with 1; with `--update` it rewrites
the blocks; `--only FOLDER` takes the pages' parts of one folder. A command is run once, however
many pages show it, so pages of one folder share their captures.

What an example prints is the same everywhere but for what `settled`, `VARYING` and `calm` say.
"""

import argparse
import difflib
import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
EXAMPLES = DOCS / "examples"
MADE_WITH = {"python": (3, 11), "torch": "2.13.0"}
"""What the outputs were made with: another Python or torch says some of it otherwise."""

HOME = "home/you/project"
"""Where the examples run, as far as a page tells."""

BLOCK = re.compile(
    r"^(?P<indent> *)<!-- (?P<kind>in|file|run|show)(?: \[(?P<options>[^\]\n]*)\])?:"
    r" (?P<what>[^\n]*?) -->\n(?P<fence> *```\w*[^\n]*\n.*?^ *```\n)?",
    re.MULTILINE | re.DOTALL,
)

VARYING = (
    r"\d+\.\d+ s\b",  # how long something took
    r"\b\d+ ms\b",
    r"\d+\.\d{3,}",  # what a processor computes, which another one rounds otherwise
    r"at 0x[0-9a-f]{6,}",
    r"(?<=/pellucid_find_)(nan|difference)_\w+",  # a directory that tempfile has named
)
"""What differs from run to run, and so is shown as it was once and not compared."""


def settled(text: str) -> str:
    """Return what a command printed without torch's log and the places of this machine."""
    text = re.sub(r"^[VIWE]\d{4} [\d:.]+ \d+ .*\n?", "", text, flags=re.MULTILINE)  # torch's log
    # torch shortens some paths from the left.
    text = re.sub(r"[^\s'\"(\[=:]*" + HOME, f"/{HOME}", text)
    text = re.sub(r"(/[^\s:'\"]*)?/site-packages/", "…/site-packages/", text)
    text = text.replace(str(ROOT / "python" / "pellucid"), "…/site-packages/pellucid")
    text = text.replace(f"{tempfile.gettempdir()}/pellucid_", "/tmp/pellucid_")
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE).rstrip("\n")


def masked(text: str, any_number: bool = False) -> str:
    """Return a text in which all that varies is the same."""
    for pattern in (*VARYING, *([r"[ ]*\d+(?:\.\d+)?"] if any_number else [])):
        text = re.sub(pattern, "~", text)
    return text


def calm(folder: Path) -> None:
    """Shorten the times of captures that a busy machine took too long for.

    From half a minute on a function is a finding of its own, which a page cannot show or not show.
    """
    for file in folder.glob("*/times.json"):
        record = json.loads(file.read_text(encoding="utf-8"))
        total = sum(times["seconds"].get("duration", 0.0) for times in record["times"])
        if total < 20:
            continue
        for times in record["times"]:
            for name in times["seconds"]:
                times["seconds"][name] *= 20 / total
        file.write_text(json.dumps(record), encoding="utf-8")


class Options(NamedTuple):
    """What stands in the brackets of a comment."""

    status: int = 0
    hidden: bool = False
    input: str = ""
    first: int = 0
    start: str = ""
    end: str = ""
    language: str = ""
    numbers: bool = False


def options_of(text: Optional[str]) -> Options:
    """Read the brackets of a comment.

    >>> options_of("status 1; first 10")[:4]
    (1, False, '', 10)
    """
    fields = {"from": "start", "to": "end", "as": "language"}
    found: Dict[str, object] = {}
    for part in filter(None, (part.strip() for part in (text or "").split(";"))):
        name, _, value = part.partition(" ")
        name = fields.get(name, name)
        if name not in Options._fields:
            raise SystemExit(f"docs_examples: no option {part!r}")
        default = getattr(Options(), name)
        found[name] = True if isinstance(default, bool) else type(default)(value)
    return Options(**found)  # type: ignore[arg-type]


def part(text: str, options: Options) -> str:
    """Return the lines of a text that the options want."""
    lines = text.splitlines()
    if options.start:
        lines = lines[_line(lines, options.start, 0) :]
    if options.end:
        lines = lines[: _line(lines, options.end, 1)]
    if options.first and len(lines) > options.first:
        lines = [*"\n".join(lines[: options.first]).strip("\n").splitlines(), "…"]
    return "\n".join(lines).strip("\n")


def _line(lines: List[str], wanted: str, begin: int) -> int:
    for number, line in enumerate(lines[begin:], begin):
        if wanted in line:
            return number
    raise LookupError(f"no line has {wanted!r}:\n" + "\n".join(lines))


class Runner:
    """A scratch copy of the examples, and what was run there."""

    def __init__(self, scratch: Path, python: str = sys.executable) -> None:
        self.scratch = scratch
        self._said: Dict[Tuple[str, str], Tuple[int, str]] = {}
        tools = scratch / ".bin"
        tools.mkdir(parents=True)
        modules = {
            "python": "",
            "pellucid": " -m pellucid",
            "pytest": " -m pytest",
            "torchrun": " -m torch.distributed.run",
        }
        for name, arguments in modules.items():
            tool = tools / name
            tool.write_text(f'#!/bin/sh\nexec {shlex.quote(python)}{arguments} "$@"\n')
            tool.chmod(0o755)

    def folder(self, name: str) -> Path:
        """Return the scratch copy of a folder of the examples."""
        copy = self.scratch / name / HOME
        if not copy.exists():
            shutil.copytree(EXAMPLES / name, copy, ignore=shutil.ignore_patterns("__pycache__"))
        return copy

    def run(self, folder: str, command: str, given: str = "") -> Tuple[int, str]:
        """Run a command line; return its status and all that it said."""
        where = self.folder(folder)
        if (folder, command) not in self._said:
            with open(where / given if given else os.devnull, "rb") as stdin:
                done = subprocess.run(
                    ["bash", "-c", command],
                    cwd=where,
                    env=environment(self.scratch),
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    timeout=300,
                    check=False,
                )
            calm(where)
            said = settled(done.stdout.decode("utf-8", "replace"))
            self._said[folder, command] = done.returncode, said
        return self._said[folder, command]


def environment(scratch: Path) -> Dict[str, str]:
    """Return what a command finds that runs in a scratch copy."""
    ours = ("PELLUCID_", "TORCH", "PYTEST_", "PYTHONPATH")
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("PELLUCID_PYTHON") or not name.startswith(ours)
    }
    return {
        **kept,
        "PATH": f"{scratch / '.bin'}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "PYTHONUNBUFFERED": "1",  # so that both streams come in the order of what was said
        "PYTHONHASHSEED": "0",
        "COLUMNS": "90",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "TORCHINDUCTOR_VEC_ISA_OK": "1",  # trying it out takes seconds
        "TORCHINDUCTOR_CACHE_DIR": str(scratch / ".inductor"),
    }


def language_of(name: str) -> str:
    """Return what a block of a file is marked as."""
    known = {".py": "python", ".json": "json", ".md": "markdown", ".cpp": "cpp", ".ipynb": "python"}
    return known.get(Path(name).suffix, "text")


def _head(name: str, options: Options) -> str:
    return f'{options.language or language_of(name)} title="{name}"'


def block(runner: Runner, folder: str, kind: str, what: str, options: Options) -> str:
    """Return the block that a comment stands for, without its fences: (language, body)."""
    if kind == "file":
        text = (EXAMPLES / folder / what).read_text(encoding="utf-8")
        if what.endswith(".ipynb"):
            cells = json.loads(text)["cells"]
            text = "\n\n\n".join("".join(cell["source"]) for cell in cells)
        return f"{_head(what, options)}\n{part(text, options)}"
    if kind == "show":
        text = (runner.folder(folder) / what).read_text(encoding="utf-8")
        text = settled(text)
        return f"{_head(what, options)}\n{part(text, options)}"
    status, said = runner.run(folder, what, options.input)
    if status != options.status:
        raise RuntimeError(f"`{what}` in {folder} exits with {status}:\n{said}")
    body = part(said, options)
    if options.language:
        return f"{options.language}\n{body}"
    given = f" < {options.input}" if options.input else ""
    return f"console\n$ {what}{given}\n{body}".rstrip("\n")


def remade(text: str, runner: Runner, only: str = "") -> str:
    """Return a page with its blocks made anew; what differs by what varies alone stays."""
    folder = ""

    def replace(found: "re.Match[str]") -> str:
        nonlocal folder
        kind, what, options = found["kind"], found["what"], options_of(found["options"])
        if kind == "in":
            folder = what
            return found[0]
        if only and folder != only:
            return found[0]
        made = block(runner, folder, kind, what, options)
        comment = found[0][: len(found[0]) - len(found["fence"] or "")]
        if options.hidden:
            return comment + (found["fence"] or "")
        indent = found["indent"]
        fenced = "".join(
            f"{indent}{line}".rstrip() + "\n" for line in f"```{made}\n```".splitlines()
        )
        old = found["fence"] or ""
        if masked(old, options.numbers) == masked(fenced, options.numbers):
            fenced = old
        return comment + fenced

    return BLOCK.sub(replace, text)


def pages() -> List[Path]:
    """Return the pages that may have examples."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def folders_of(text: str) -> List[str]:
    """Return the folders that a page works in."""
    return [found["what"] for found in BLOCK.finditer(text) if found["kind"] == "in"]


def used_folders() -> List[str]:
    """Return the folders that any page works in."""
    found = {name for page in pages() for name in folders_of(page.read_text(encoding="utf-8"))}
    return sorted(found)


def differences(only: str, update: bool, python: str = sys.executable) -> Iterator[str]:
    """Run what the pages show; yield what they say otherwise, or rewrite them.

    Args:
        only: a folder of the examples, or "" for all of them.
        update: whether the pages are rewritten.
        python: what `python` and `pellucid` are in a command.
    """
    with tempfile.TemporaryDirectory(prefix="docs_examples_") as scratch:
        runner = Runner(Path(scratch).resolve(), python)
        for page in pages():
            now = page.read_text(encoding="utf-8")
            folders = folders_of(now)
            if not folders or (only and only not in folders):
                continue
            wanted = remade(now, runner, only)
            if update and now != wanted:
                page.write_text(wanted, encoding="utf-8")
            elif now != wanted:
                name = str(page.relative_to(ROOT))
                yield from difflib.unified_diff(
                    now.splitlines(True), wanted.splitlines(True), name, f"{name}, as it is now"
                )


def main() -> int:
    """Compare, or rewrite with `--update`; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--update", action="store_true", help="rewrite the blocks")
    parser.add_argument("--only", metavar="FOLDER", default="", help="a folder of docs/examples")
    options = parser.parse_args()
    different = False
    for line in differences(options.only, options.update):
        different = True
        sys.stdout.write(line)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"docs_examples: {spent.ru_utime + spent.ru_stime:.1f} s of processor time")
    if different:
        print("docs_examples: `python tools/docs_examples.py --update` rewrites the pages")
    return int(different)


if __name__ == "__main__":
    sys.exit(main())
