# SPDX-License-Identifier: Apache-2.0
"""Parser of torch's text for failed guards and failed compiles.

The text differs between releases.  Text that cannot be parsed becomes kind ``other``.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import re
from typing import Callable, Match, Sequence

from pellucid.brief import counted

from .breaks import stack_of
from .events import CompileKey, GuardFailure, Place
from .names import as_written, scrub

NO_REASON = "torch gives no reason"
"""The reason recorded for a frame without code if torch gives none: it has no operation."""
_VERSION = re.compile(r"^(?P<id>!?\d+(?:/\d+)+): ")
# torch's comment after a guard: the user's line and its place, whose path is truncated on the left;
# then, or alone, the place in torch that created the guard, in parentheses.
_TORCHS_PLACE = r"\([^()\n]+:\d+ in [^()\n]+\)"
_COMMENT = re.compile(
    r"\s*  # (?:(?P<code>.*?)  # )?(?P<file>[^\n#()]+\.\w+|<[^\n#()<>]+>):(?P<line>\d+)"
    r" in (?P<function>\S+)"
    rf"(?: {_TORCHS_PLACE})?(?P<more>.*)$",
    re.DOTALL,
)
_COMMENT_OF_TORCH = re.compile(rf"\s*  # {_TORCHS_PLACE}$")
_STACK = "\nUser stack trace:\n"
_MAP_STACK = "from user code:\n"

_TENSOR = re.compile(
    r"^tensor '(?P<source>.*)' (?P<what>size|stride|dtype|device|requires_grad"
    r"|dispatch key set|rank)"
    r" mismatch(?: at index (?P<index>\d+))?\. expected (?P<expected>.*?),? actual (?P<actual>.*)$",
    re.DOTALL,
)
_GRADIENT = re.compile(
    r"^tensor '(?P<source>.*)' requires_grad mismatch\. expected requires_grad=(?P<expected>\d)"
)
_ACCESS = re.compile(r"^\w+Accessor: .* on (?P<source>.*?)(?:\.__code__)?$")
_TWICE = re.compile(r"^Duplicate tensors found: (?P<source>.*)$")
_EXPECTED = re.compile(
    r"^(?:expected type of|tensor) '(?P<source>.*?)' (?:to be a tensor type, |)"
    r"(?:.*?)expected (?P<expected>.*?),? (?:but found|actual) (?P<actual>.*)$"
)
# torch's own text has an unbalanced quote.
_SUBCLASS = re.compile(
    r"^expected type of '(?P<source>.*?)' to be a tensor type, ' but found (?P<actual>.*)$"
)
_TYPE = re.compile(r"^___check_type_id\((?P<source>.*), \S+\)(?:, type=(?P<expected>.*))?$")
_IDENTITY = re.compile(r"^___check_obj_id\((?P<source>.*), \S+\)(?:, type=(?P<expected>.*))?$")
_LENGTH = re.compile(
    r"^(?:len\((?P<source>.*)\) == (?P<expected>\d+)|not (?P<empty>[\w.\[\]'\"]+))$"
)
# A dict has another number of keys: of all texts, only this one has what is true of the new call.
_KEYS = re.compile(r"^len\((?P<source>.*)\) != (?P<number>\d+)$")
_NTH_KEY = re.compile(
    r"^list\(dict\.keys\((?P<source>.*)\)\)\[(?P<index>\d+)\] == (?P<expected>.*)$", re.DOTALL
)
_RANGE = re.compile(r"^___normalize_range_iter\((?P<source>.*)\) == \((?P<expected>.*)\)$")
_ITEM = re.compile(r"^(?:KeyError|IndexError) on (?P<source>.*)$")
_ATTRIBUTE = re.compile(
    r"^(?:AttributeError on (?P<source>.*)|hasattr\((?P<owner>.*), '(?P<name>\w+)'\))"
)
_CONTAINS = re.compile(r"^(?P<no>not )?___dict_contains\((?P<key>.*?), (?P<source>.*)\)$")
_GLOBAL = re.compile(
    r"^(?:GLOBAL_STATE changed: (?P<expected>.*)|___check_global_state\(\).*)$", re.S
)
_MODES = re.compile(r"^___check_torch_function_mode_stack\(\)|^utils_device\.CURRENT_DEVICE == ")
_FREED = re.compile(r"^Cache line invalidated because (?P<source>.*) got deallocated")
_DEAD = re.compile(r"weakref|is invalidated|cache entry is invalid", re.IGNORECASE)
_MARKED = re.compile(r"_dynamo_(?:\w+_)?indices|_dynamo_dim_marking|dynamic_indices")
_ALIAS = re.compile(r"^(?P<source>.*) is (?P<expected>[LG]\[.*\]|(?!None$)[\w.\[\]'\"]+)$")
_NONE = re.compile(r"^(?P<source>.*) is (?P<expected>(?:not )?None)$")
_BACKEND = re.compile(r"^___check_current_backend\(|BACKEND_MATCH|backend")
_COMPARED = re.compile(r"^(?P<source>.*?) (?P<how>==|!=|<=|>=|<|>) (?P<expected>.*)$", re.DOTALL)
_JOINED = re.compile(r" (?:and|or) |[<>=]=?.*[<>=]")
# `((-1)*lr) == (-0.02)`: a guard on what Inductor computes from a number.
_MULTIPLE = re.compile(
    r"^\(*(?P<factor>-?[\d.e+-]+)\)?\*(?P<source>[A-Za-z_][\w.\[\]'\"]*)\)* == "
    r"\(?(?P<value>-?[\d.e+-]+)\)?$"
)
_SIZES = re.compile(r"\.(?:size|stride|storage_offset)\(\)")


def failures_of(key: CompileKey, reasons: Sequence[str]) -> tuple[GuardFailure, ...]:
    """Return failed guards as values, one per text.

    >>> one, = failures_of(CompileKey("0/1"), ["0/0: tensor 'x' size mismatch at index 1. "
    ...     "expected 2, actual 5"])
    >>> str(one.version), one.kind, one.source, one.expected, one.actual
    ('0/0', 'size', 'x.size(1)', '2', '5')
    """
    return tuple(_failure(key, reason) for reason in reasons)


def _failure(key: CompileKey, reason: str) -> GuardFailure:
    found = _VERSION.match(reason)
    version = None if found is None else CompileKey(found["id"], key.epoch)
    text = reason[found.end() :] if found is not None else reason
    text, stack, way = text.partition(_STACK)
    text, place = without_comment(text)
    frames = stack_of(_MAP_STACK + way) if stack else ()
    place = innermost(frames) or place
    text = scrub(text.strip())
    kind, source, expected, actual = _read(text)
    expected, actual = (_CLASS.sub(r"\1", _HINT.sub("", told)) for told in (expected, actual))
    return GuardFailure(version, kind, as_written(source), expected, actual, text, place)


def without_comment(text: str) -> tuple[str, Place | None]:
    """Return a guard without torch's comment, and the user's line in the comment, as torch cuts it.

    >>> without_comment("n == 3  # for _ in n:  # rc/toy.py:5 in f (_dynamo/t.py:26 in evaluate)")
    ('n == 3', Place(file='rc/toy.py', line=5, function='f'))
    >>> without_comment("-1*lr == -2  # (fx/passes/tensorify.py:429 in _tensorify)")
    ('-1*lr == -2', None)
    """
    comment = _COMMENT.search(text)
    if comment is None:
        return _COMMENT_OF_TORCH.sub("", text), None
    place = Place(comment["file"].strip(), int(comment["line"]), comment["function"])
    return text[: comment.start()], place


def innermost(frames: Sequence[Place]) -> Place | None:
    """Return the innermost place in user code, or the innermost of all if there is none."""
    own = [frame for frame in frames if is_own(frame.file)]
    return own[-1] if own else frames[-1] if frames else None


_CLASS, _HINT = re.compile(r"<class '([^']*)'>"), re.compile(r"\s*\(HINT: .*\)$", re.DOTALL)
_LIMIT = re.compile(
    r"(?:Limit type: |hit config\.|exceeding the )(?P<name>\w*(?:recompile|cache_size)_limit)\b"
)


def limit_in(text: str) -> str:
    """Return the setting whose limit was hit, according to torch's text; empty for other errors.

    >>> limit_in("exceeding the recompile_limit cache size limit (currently set to 8)")
    'recompile_limit'
    """
    found = _LIMIT.search(text)
    if found is not None:
        return found["name"]
    return (
        "recompile_limit" if "FailOnRecompileLimitHit" in text or "cache_size_limit" in text else ""
    )


_FOREIGN = re.compile(
    r"(?:^|[/\\])(?:site-packages|dist-packages)[/\\]|^<frozen |[/\\]lib[/\\]python\d\.\d+[/\\]"
    r"|(?:^|[/\\])torch[/\\](?:_\w+|nn|fx|optim|utils|distributed|autograd|library\.py)\b"
    r"|^<eval_with_key>|(?:^|[/\\])__(?:transformed|compiled)_code_|[/\\]python[/\\]pellucid[/\\]"
)


@functools.lru_cache(maxsize=1024)
def is_own(file: str) -> bool:
    """Return true if a file is user code: not installed, not Python's, and not pellucid's.

    A pellucid that is not installed runs from ``python/pellucid`` of its repository.

    >>> is_own("/home/me/model.py"), is_own("/e/lib/python3.11/site-packages/timm/m.py")
    (True, False)
    """
    return _FOREIGN.search(file) is None


def _read(text: str) -> tuple[str, str, str, str]:
    """Return a guard's kind, source, expected value and actual value."""
    if _is_compound(text):
        return "shape" if _SIZES.search(text) else "condition", text, "", ""
    for pattern, read in _FORMS:
        found = pattern.search(text)
        if found is not None:
            return read(found)
    return "other", "", "", ""


def _is_compound(text: str) -> bool:
    """Return true if a guard combines several tests, which are not reported separately.

    >>> _is_compound("k == 2 and len(x) == 3"), _is_compound("2 <= n <= 4"), _is_compound("k == 2")
    (True, True, False)
    """
    if not _JOINED.search(text):
        return False
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return isinstance(tree, ast.BoolOp) or (isinstance(tree, ast.Compare) and len(tree.ops) > 1)


def _part(found: Match[str], name: str) -> str:
    return (found.groupdict().get(name) or "").strip()


def _tensor(found: Match[str]) -> tuple[str, str, str, str]:
    what, source = found["what"], found["source"]
    index = found["index"]
    if what in ("size", "stride") and index is not None:
        source = f"{source}.{what}({index})"
    elif what in ("dtype", "device", "requires_grad"):
        source = f"{source}.{what}"
    kind = {"dispatch key set": "dispatch keys"}.get(what, what)
    # torch may add advice to the value, as a second sentence.
    actual = _part(found, "actual").partition(". ")[0]
    return kind, source, _part(found, "expected").rstrip("."), actual.rstrip(".")


def _gradient(found: Match[str]) -> tuple[str, str, str, str]:
    expected = found["expected"] == "1"
    return "requires_grad", f"{found['source']}.requires_grad", str(expected), str(not expected)


def _of(kind: str) -> Callable[[Match[str]], tuple[str, str, str, str]]:
    return lambda found: (
        kind,
        _part(found, "source"),
        _part(found, "expected"),
        _part(found, "actual"),
    )


def _length(found: Match[str]) -> tuple[str, str, str, str]:
    return "length", found["source"] or found["empty"], found["expected"] or "0", ""


def _keys(found: Match[str]) -> tuple[str, str, str, str]:
    return "keys", found["source"], f"it had {counted(int(found['number']), 'key')}", ""


def _nth_key(found: Match[str]) -> tuple[str, str, str, str]:
    return "keys", found["source"], f"key {found['index']} was {found['expected']}", ""


def _attribute(found: Match[str]) -> tuple[str, str, str, str]:
    source = found["source"] or f"{found['owner']}.{found['name']}"
    return "attribute", source, "", ""


def _contains(found: Match[str]) -> tuple[str, str, str, str]:
    return "key", f"{found['source']}[{found['key']}]", "absent" if found["no"] else "present", ""


def _global(found: Match[str]) -> tuple[str, str, str, str]:
    return "global state", "", _part(found, "expected"), ""


def _compared(found: Match[str]) -> tuple[str, str, str, str]:
    source, how, expected = found["source"], found["how"], found["expected"]
    times = _MULTIPLE.match(found[0])
    with contextlib.suppress(ValueError, ZeroDivisionError):
        if times is not None:
            source, expected = times["source"], str(float(times["value"]) / float(times["factor"]))
    if _SIZES.search(f"{source} {expected}"):
        return "shape", f"{source} {how} {expected}", "", ""
    if how != "==":
        return "condition", f"{source} {how} {expected}", "", ""
    try:
        kind = "float" if isinstance(float(expected), float) and not expected.isdigit() else "int"
        kind = "int" if re.fullmatch(r"-?\d+", expected) else kind
    except ValueError:
        kind = "value"
    return kind, source, expected, ""


_FORMS: tuple[tuple[re.Pattern[str], Callable[[Match[str]], tuple[str, str, str, str]]], ...] = (
    (_MARKED, _of("marked")),
    (_GRADIENT, _gradient),
    (_TENSOR, _tensor),
    (_TWICE, _of("alias")),
    (_ACCESS, _of("identity")),
    (_SUBCLASS, _of("type")),
    (_EXPECTED, _of("type")),
    (_TYPE, _of("type")),
    (_IDENTITY, _of("identity")),
    (_GLOBAL, _global),
    (_MODES, _of("global state")),
    (_FREED, _of("gone")),
    (_DEAD, _of("gone")),
    (_ITEM, _of("key")),
    (_CONTAINS, _contains),
    (_ATTRIBUTE, _attribute),
    (_RANGE, _of("iterator")),
    (_KEYS, _keys),
    (_NTH_KEY, _nth_key),
    (_LENGTH, _length),
    (_NONE, _of("none")),
    (_COMPARED, _compared),
    (_ALIAS, _of("alias")),
    (_BACKEND, _of("backend")),
)
