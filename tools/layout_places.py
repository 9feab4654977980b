# SPDX-License-Identifier: Apache-2.0
"""Judge texts by the columns of their code, for `layout_judge.py`.

Reads lines of JSON, `[PYC, TEXT, LINE_MAP]`, and writes for each how many statements it judged and
those that contradict their nesting, `[LINE, WORDS]`. Runs in the interpreter that made the files.
"""

import ast
import collections
import json
import marshal
import sys
import types
import warnings

# They start with an instruction, and that has their column.
_JUDGED = (ast.AugAssign, ast.Raise, ast.Import, ast.ImportFrom)
_HEADER = 16
_BRACKET = 1  # a bracket at the start leaves nothing


def codes(code, path, found):
    """Add each code object to those of its path."""
    found[path].append(code)
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            codes(each, f"{path}/{each.co_name}", found)


def columns(code):
    """Return the least column of each line of a code object."""
    least = {}
    for line, _, column, end in code.co_positions():
        if line is not None and column is not None and end > 0:
            least[line] = min(column, least.get(line, column))
    return least


def starts(pyc, line_map):
    """Return the column in which the statement of each line of a text was written, where known."""
    by_path = collections.defaultdict(list)
    with open(pyc, "rb") as file:
        code = marshal.loads(file.read()[_HEADER:])
    codes(code, code.co_name, by_path)
    known = {path: columns(each[0]) for path, each in by_path.items() if len(each) == 1}
    alone = collections.Counter((path, original) for _, original, _, path in line_map)
    found = {}
    for line, original, _, path in line_map:
        column = known.get(path, {}).get(original)
        if column is not None and alone[path, original] == 1:
            found[line] = column
    return found


def is_judged(statement):
    """Return true for a statement whose first line has an instruction in its column.

    The names of `a, b = c` may be stored by one instruction, and a chain of calls over several
    lines has the line of its last one.
    """
    if isinstance(statement, ast.Assign):
        return not isinstance(statement.targets[0], (ast.Tuple, ast.List))
    if isinstance(statement, ast.Expr):
        called = [each for each in ast.walk(statement) if isinstance(each, ast.Call)]
        return len(called) < 2
    return isinstance(statement, _JUDGED)


def judge(tree, starts_of):
    """Return the number of statements judged, and the contradictions."""
    count, found = 0, []
    todo = [(tree.body, -2 * _BRACKET)]
    while todo:
        suite, outer = todo.pop()
        column = None
        for statement in suite:
            start = starts_of.get(statement.lineno)
            if start is not None and is_judged(statement):
                count += 1
                if column is None:
                    column = start
                    if start <= outer + _BRACKET:
                        found.append((statement.lineno, f"in column {start}, inside {outer}"))
                elif abs(start - column) > _BRACKET:
                    found.append((statement.lineno, f"in column {start}, beside {column}"))
        inside = outer if column is None else column
        for statement in suite:
            for part in [statement, *getattr(statement, "handlers", ())]:
                for name in ("body", "orelse", "finalbody"):
                    todo.append((getattr(part, name, None) or [], inside))
            for case in getattr(statement, "cases", ()):
                todo.append((case.body, inside))
    return count, found


def main():
    """Answer a line per file."""
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        pyc, text, line_map = json.loads(line)
        print(json.dumps(judge(ast.parse(text), starts(pyc, line_map))), flush=True)


if __name__ == "__main__":
    main()
