"""Print the pairs of tests/cases/verify as requests to pellucid_verify_pairs, a JSON line each.

Run it with the interpreter whose bytecode is to be compared; test_verify.py feeds it on.
"""

import json
import marshal
import os
import sys
import textwrap

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cases", "verify")
# File, and what may differ.
FILES = [("strict.txt", ""), ("temporaries.txt", "extra_locals")]


def program(body):
    """Return the code of a module that defines `f` with this body."""
    source = "def f(a, b, c, *args, **kw):\n" + textwrap.indent(body, " ") + "\n"
    return compile(source, "case", "exec", 0, True, 0)


def main():
    """Print a line a pair."""
    version = "%d.%d" % sys.version_info[:2]
    for name, options in FILES:
        with open(os.path.join(FOLDER, name)) as cases:
            for case in cases.read().split("\n### ")[1:]:
                title, bodies = case.split("\n", 1)
                a, b = bodies.split("\n---\n")
                # `differs on 3.8, 3.9: …` is not asked of other versions.
                versions = title.split(":")[0].partition(" on ")[2]
                if versions and version not in versions.split(", "):
                    continue
                line = {"title": title, "version": version, "options": options}
                line["a"] = marshal.dumps(program(a)).hex()
                line["b"] = marshal.dumps(program(b)).hex()
                print(json.dumps(line))


if __name__ == "__main__":
    main()
