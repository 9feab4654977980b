"""Says what the trees of texts consist of: python3.N text_facts.py FILE.py... > facts.json

For each file why it does not compile, if it does not, the kinds of its nodes, and the names in it.
"""

import ast
import json
import sys
from typing import Any, List, Set

# Which of the fields of a node are names.
FIELDS = ("id", "name", "attr", "arg", "asname", "module", "rest", "names", "kwd_attrs")


def names_of(tree: ast.AST) -> Set[str]:
    """Every identifier of the tree; of dotted ones each part."""
    names: Set[str] = set()
    for node in ast.walk(tree):
        for field in FIELDS:
            value = getattr(node, field, None)
            for name in value if isinstance(value, list) else [value]:
                if isinstance(name, str):
                    names.update(name.split("."))
    return names


def facts(path: str) -> List[Any]:
    """Why it does not compile (nothing: it does), kinds and names."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError) as error:
        return [str(error), [], []]
    kinds = [type(node).__name__ for node in ast.walk(tree)]
    try:
        compile(data, "x.py", "exec")
    except (SyntaxError, ValueError) as error:
        return [str(error), kinds, sorted(names_of(tree))]
    return [None, kinds, sorted(names_of(tree))]


json.dump({path: facts(path) for path in sys.argv[1:]}, sys.stdout)
