# SPDX-License-Identifier: Apache-2.0
"""Fix programs as a coding agent does: follow `pellucid explain --json --try`, and nothing else.

It works on copies of the programs that the command line names, by default the three in `agent/`.
In each round it captures the program, asks for the findings with tried remedies, and applies to
each the first remedy that works and has a diff. It ends when there is none, and prints what it did.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 5
PROGRAMS = sorted((Path(__file__).resolve().parent / "agent").glob("*.py"))


def pellucid(folder, *arguments):
    """Run pellucid in a folder; return what it prints."""
    command = [sys.executable, "-m", "pellucid", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode > 1:  # 1 is the answer of a command that looks for something
        raise SystemExit(f"pellucid {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def patched(text, diff):
    """Return a text with a unified diff of it applied."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.py"
        file.write_text(text, encoding="utf-8")
        subprocess.run(["patch", "--quiet", str(file)], input=f"{diff}\n", text=True, check=True)
        return file.read_text(encoding="utf-8")


def improve(program, findings):
    """Apply the first remedy of each finding that was tried and works; return what was done."""
    done, text = [], program.read_text(encoding="utf-8")
    for finding in findings:
        for remedy in finding["remedies"]:
            works = remedy["trial"] is not None and remedy["trial"]["status"] == "works"
            at = remedy["target"] or finding["place"]
            if works and remedy["diff"] and at["file"] == str(program):
                text = patched(text, remedy["diff"])
                done.append(f"line {finding['place']['line']}: {remedy['words']}")
                break
    program.write_text(text, encoding="utf-8")
    return done


def fix(program):
    """Fix one program, round by round; print what was done."""
    print(program.name)
    for number in range(ROUNDS):
        dump = f"round_{number}"
        pellucid(program.parent, "run", "--out", dump, program.name)
        explained = json.loads(pellucid(program.parent, "explain", dump, "--json", "--try"))
        if explained["schema"] != 1:
            raise SystemExit("this script knows version 1 of the findings")
        counts = explained["counts"]
        print(f"  breaks: {counts['breaks']}, recompiles: {counts['recompiles']}")
        done = improve(program, explained["findings"])
        if not done:
            return
        print("\n".join(f"  {line}" for line in done))


def main():
    for path in map(Path, sys.argv[1:] or PROGRAMS):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder).resolve() / path.name
            shutil.copy(path, program)
            fix(program)


if __name__ == "__main__":
    main()
