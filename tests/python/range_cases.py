"""Code whose exception table parts what CPython's compilers protect as one (breach_cases.py)."""

import dis
from types import CodeType
from typing import Callable, Dict, List, Tuple

from assembler import Entry, Instr, Parts, put_together, take_apart

TRY = "def f(x):\n    try:\n        "
TESTED = TRY + "if x:\n            x()\n    except KeyError:\n        x(1)\n"
NEGATED = (
    "def f(x):\n    try:\n        y = not x\n    except KeyError:\n        y = 1\n    return y\n"
)
CAUGHT = TRY + "yield x\n    except KeyError:\n        yield 1\n"
LEFT = CAUGHT + "        return\n    x()\n"
WAITING = "async " + TRY + "await x\n    except KeyError:\n        return 1\n"
ENTERED = (
    "def f(x):\n    try:\n        with x:\n            x()\n    except KeyError:\n        x(1)\n"
)
FOUND = TRY + "return any(y for y in x)\n    except KeyError:\n        return x\n"
FILLED = FOUND.replace("any", "set")
CALLED = TRY + "x(1)\n    except KeyError:\n        x(2)\n"

Change = Callable[[CodeType], CodeType]


def place(parts: Parts, name: str, which: int = 0, arg: int = -1) -> int:
    """Return where the instruction of a name is."""
    found = [
        i
        for i, instr in enumerate(parts.instrs)
        if dis.opname[instr.op] == name and (arg < 0 or instr.arg == arg)
    ]
    return found[which]


def rows(parts: Parts, wanted: "Callable[[int, Entry], bool]") -> List[Tuple[Instr, Entry]]:
    """Return what is protected, instruction by instruction."""
    end = len(parts.instrs)
    index = {id(instr): i for i, instr in enumerate(parts.instrs)}
    return [
        (parts.instrs[i], entry)
        for entry in parts.entries
        for i in range(index[id(entry.begin)], end if entry.end is None else index[id(entry.end)])
        if wanted(i, entry)
    ]


def table_of(parts: Parts, protected: "List[Tuple[Instr, Entry]]") -> List[Entry]:
    """Return the table with an entry for each instruction."""
    following = dict(zip(map(id, parts.instrs), [*parts.instrs[1:], None]))
    return [entry._replace(begin=one, end=following[id(one)]) for one, entry in protected]


def bare(name: str, which: int = 0, count: int = 1) -> Change:
    """Let no handler protect some instructions."""

    def changed(code: CodeType) -> CodeType:
        parts = take_apart(code)
        at = place(parts, name, which)
        kept = rows(parts, lambda i, entry: not at <= i < at + count)
        assert len(kept) < len(rows(parts, lambda i, entry: True))
        return put_together(code, Parts(parts.instrs, table_of(parts, kept)))

    return changed


def protected(name: str, count: int, arg: int = -1) -> Change:
    """Let the handler of an `except` protect some more instructions."""

    def changed(code: CodeType) -> CodeType:
        parts = take_apart(code)
        at = place(parts, name, 0, arg)
        like = next(e for e in parts.entries if dis.opname[e.target.op] == "PUSH_EXC_INFO")
        more = range(at, at + count)
        kept = rows(parts, lambda i, entry: i not in more)
        kept += [(parts.instrs[i], like) for i in more]
        kept.sort(key=lambda row: next(i for i, x in enumerate(parts.instrs) if x is row[0]))
        return put_together(code, Parts(parts.instrs, table_of(parts, kept)))

    return changed


NEWEST = (3, 15)
CASES: "Dict[str, Tuple[Tuple[int, int], Tuple[int, int], str, Change]]" = {
    "a truth that is not protected": ((3, 13), NEWEST, TESTED, bare("TO_BOOL")),
    "a negation that is not protected": ((3, 13), NEWEST, NEGATED, bare("TO_BOOL")),
    "thrown in before the start": ((3, 11), NEWEST, CAUGHT, protected("RETURN_GENERATOR", 1)),
    "a wrapper in a try": ((3, 12), NEWEST, LEFT, protected("CALL_INTRINSIC_1", 2, 3)),
    "a wait whose jump is not protected": (
        (3, 11),
        (3, 11),
        WAITING,
        bare("JUMP_BACKWARD_NO_INTERRUPT"),
    ),
    "a call that is half protected": ((3, 11), (3, 11), CALLED, bare("PRECALL")),
    "half of what enters a with": ((3, 14), NEWEST, ENTERED, bare("LOAD_SPECIAL", 1, 2)),
    "a test of any() that is not protected": ((3, 14), NEWEST, FOUND, bare("TO_BOOL")),
    "an item of a set that is not protected": ((3, 15), NEWEST, FILLED, bare("SET_ADD")),
}
