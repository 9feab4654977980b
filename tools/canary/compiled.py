# SPDX-License-Identifier: Apache-2.0
"""What the compiler makes of each construct: the instructions, by construct.

Numbers and stack effects do not tell how instructions go together: that an iterator is asked for
before a generator starts, say, or that an argument has bits for something else.  So a program for
each construct is compiled, and two versions differ where the instructions do.
"""

import difflib
import dis
import opcode
import re
import types
import warnings
from pathlib import Path
from typing import Dict, Iterator, List, Tuple


def _programs() -> Dict[str, str]:
    text = Path(__file__).with_name("constructs.txt").read_text(encoding="utf-8")
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)[1:]
    return {name: body.strip("\n") for name, body in zip(parts[::2], parts[1::2])}


PROGRAMS = _programs()
_NOT_SHOWN = frozenset(["CACHE", "EXTENDED_ARG"])


def _code_objects(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _code_objects(const)


def _instructions(code: types.CodeType) -> Iterator[str]:
    for each in _code_objects(code):
        yield "<%s>" % each.co_name
        for instr in dis.get_instructions(each):
            if instr.opname in _NOT_SHOWN:
                continue
            number = instr.opcode
            if instr.arg is None or number in opcode.hasjrel or number in opcode.hasjabs:
                yield instr.opname
            elif number in opcode.hasconst:
                value = instr.argval
                shown = "<code>" if isinstance(value, types.CodeType) else repr(value)
                yield "%s %s" % (instr.opname, shown)
            else:
                yield "%s %d" % (instr.opname, instr.arg)


def table() -> Dict[str, str]:
    """Return the instructions of each construct; empty for what this version does not compile."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, text in PROGRAMS.items():
            try:
                code = compile(text, "<construct>", "exec", dont_inherit=True)
            except SyntaxError:
                found[name] = ""
                continue
            found[name] = "; ".join(_instructions(code))
    return found


def differences(before: Dict[str, str], now: Dict[str, str]) -> List[str]:
    """Say which instructions have come in the place of which, and in which constructs."""
    changes: Dict[Tuple[str, str], List[str]] = {}
    for name in PROGRAMS:
        old = before.get(name, "").split("; ") if before.get(name) else []
        new = now.get(name, "").split("; ") if now.get(name) else []
        if not old or not new:
            continue
        for tag, i, j, k, m in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
            if tag != "equal":
                change = "; ".join(old[i:j]), "; ".join(new[k:m])
                places = changes.setdefault(change, [])
                if name not in places:
                    places.append(name)
    found = []
    for (old_text, new_text), places in changes.items():
        more = " and %d more" % (len(places) - 3) if len(places) > 3 else ""
        where = ", ".join(places[:3]) + more
        found.append("%s: `%s` for `%s`" % (where, new_text or "nothing", old_text or "nothing"))
    return found
