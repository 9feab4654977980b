"""The kinds of findings: a file each, which nothing else lists."""

import ast
import dataclasses
from pathlib import Path

import pytest
from pellucid.findings import kinds
from pellucid.findings.kind import Kind


def test_a_kind_needs_a_rank_of_its_own_and_a_sentence():
    known = next(iter(kinds.KINDS.values()))
    with pytest.raises(TypeError, match="rank"):
        Kind("new", means="Something went wrong.", words="new problem")
    with pytest.raises(TypeError, match="means"):
        Kind("new", 500, words="new problem")
    with pytest.raises(ValueError, match="kind new: it needs a sentence"):
        Kind("new", 500, "", "new problem")
    for other in (dataclasses.replace(known, name="new"), dataclasses.replace(known, rank=500)):
        with pytest.raises(ValueError, match="the same name or rank"):
            kinds.in_order([*kinds.KINDS.values(), other])
    added = Kind("new", 5, "Something went wrong.", "new problem")
    assert next(iter(kinds.in_order([*kinds.KINDS.values(), added]))) == "new"


def test_a_kind_is_one_file_and_no_other_file_lists_it():
    folder = Path(kinds.__file__).parent
    package = folder.parents[1]
    written = [p for p in package.rglob("*") if p.suffix in (".py", ".css", ".js", ".html")]
    texts = {p: p.read_text(encoding="utf-8") for p in written if p.parent != folder}
    tables = [
        p.name for p, text in texts.items() if sum(f'"{k}"' in text for k in kinds.KINDS) > 10
    ]
    literals = (ast.Tuple, ast.List, ast.Set, ast.Dict)
    for p in (p for p in texts if p.suffix == ".py"):
        listed = (node for node in ast.walk(ast.parse(texts[p])) if isinstance(node, literals))
        tables += [p.name for node in listed if len(_named(node)) > 3]
    assert tables == []


def _named(node):
    inside = (n.value for n in ast.iter_child_nodes(node) if isinstance(n, ast.Constant))
    return set(inside) & set(kinds.KINDS)
