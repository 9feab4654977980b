# SPDX-License-Identifier: Apache-2.0
"""Remedies: an instruction in words and, if a program can apply it, in a form that it can apply.

The words and the form that is tried come from the same value, so they cannot disagree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Iterator, Sequence

from pellucid.brief import one_line
from pellucid.dump.model.dynamo_names import broken_function
from pellucid.dump.model.events import Place

KINDS = ("by hand", "setting", "environment", "edit", "option", "mark", "argument")
"""How a remedy is applied.

``by hand``      only the reader can apply it
``setting``      ``code`` is a statement that runs before the program
``environment``  ``code`` is ``NAME=value``, or ``NAME`` alone to unset it
``edit``         ``diff`` is a unified diff of the file of ``target``
``option``       ``code`` is an argument of torch.compile, ``dynamic=True``
``mark``         ``code`` is a call that marks a tensor before ``target`` is compiled
``argument``     ``code`` is an assignment to an argument before each call of ``target``
"""

STATUSES = ("works", "helps", "suggestion", "changes results", "does not help")
"""The possible results of a trial, in the order in which remedies are listed."""


@one_line
@dataclass(frozen=True)
class Outcome:
    """The result of one run of the program."""

    breaks: int
    """The number of lines that break a graph."""
    recompiles: int
    """The number of recompiles."""
    seconds: float
    """The run time of the program, from its first line to its last."""
    raised: str = ""
    """The exception that ended it, on one line; empty for none."""


@one_line
@dataclass(frozen=True)
class Trial:
    """The result of running a copy of the program with a remedy applied."""

    status: str
    """One of :data:`STATUSES`; ``suggestion`` if the trial was inconclusive."""
    why: str = ""
    """Details of the status, in one sentence."""
    before: Outcome | None = None
    """The run without the remedy; None if it was not tried."""
    after: Outcome | None = None
    """The run with it; None if it was not tried."""
    difference: float | None = None
    """The largest difference between two results; None if nothing could be compared."""
    compared: int = 0
    """The number of compared values: results of compiled functions, parameters, gradients."""

    def __str__(self) -> str:
        return f"{self.title}: {self.detail}" if self.detail else self.title

    @property
    def detail(self) -> str:
        """Return the details of the status: the reason, and the numbers before and after."""
        told = [self.why] if self.why else []
        if self.before is not None and self.after is not None:
            told += [*_changes(self.before, self.after), self.results]
        return ", ".join(told)

    @property
    def title(self) -> str:
        """Return the status as a finding shows it."""
        if self.status == "suggestion":
            return self.status
        return f"tried: {_TITLES.get(self.status, self.status)}"

    @property
    def results(self) -> str:
        """Return how the results differ from those without the remedy, in words."""
        if not self.compared:
            return "no results to compare"
        if not self.difference:
            return f"{self.compared} results are equal"
        return f"largest difference of {self.compared} results: {self.difference:.3g}"


_TITLES = {"helps": "helps in part", "changes results": "changes the results"}


def _changes(before: Outcome, after: Outcome) -> Iterator[str]:
    if before.raised:
        then = "and also with it" if after.raised else "but not with it"
        yield f"the program raises {before.raised.partition(':')[0]} without it {then}"
    for name in ("breaks", "recompiles"):
        first, then = getattr(before, name), getattr(after, name)
        if first or then:
            word = "graph breaks" if name == "breaks" else name
            yield f"{first} -> {then} {word}"
    yield f"{before.seconds:.2f} s -> {after.seconds:.2f} s"


@one_line
@dataclass(frozen=True)
class Remedy:
    """One thing to change."""

    words: str
    """An instruction: it begins with a lower-case verb and has no full stop."""
    kind: str = "by hand"
    """One of :data:`KINDS`."""
    code: str = ""
    """The text to apply."""
    diff: str = ""
    """The same as a unified diff of a user's file; empty if its syntax does not allow one."""
    target: Place | None = None
    """The file of an edit; the function of a mark or of an argument."""
    caution: str = ""
    """What else it changes (results, gradients, output); empty if nothing is known."""
    trial: Trial | None = None
    """The result of its trial; None if it was not tried."""

    @property
    def status(self) -> str:
        """Return its status: one of :data:`STATUSES`."""
        return "suggestion" if self.trial is None else self.trial.status

    @property
    def told(self) -> str:
        """Return the words with the caution."""
        return f"{self.words} ({self.caution})" if self.caution else self.words


def by_hand(words: str, caution: str = "") -> tuple[Remedy, ...]:
    """Return a remedy that only the reader can apply; none for empty words."""
    return (Remedy(words, caution=caution),) if words else ()


def setting(line: str, words: str = "", diff: str = "", caution: str = "") -> Remedy:
    """Return a setting, or another statement that runs before the program.

    In ``words``, ``{}`` is replaced by the statement.
    """
    return Remedy((words or "set {}").format(line), "setting", line, diff, caution=caution)


def edit(diff: str, place: Place | None, words: str, caution: str = "") -> tuple[Remedy, ...]:
    """Return an edit of the program's text; a remedy by hand if its syntax allows no diff."""
    if not diff or place is None:
        return by_hand(words, caution)
    return (Remedy(words, "edit", "", diff, place, caution),)


def option(argument: str, why: str = "") -> Remedy:
    """Return a remedy that passes an argument to torch.compile."""
    return Remedy(f"use torch.compile({argument}){why}", "option", argument)


def mark(call: str, function: Place | None, words: str = "") -> Remedy:
    """Return a call that marks a tensor before a function is compiled."""
    told = words or f"call `{call}` before the first call"
    return Remedy(told, "mark", call, target=function) if function is not None else Remedy(told)


def argument(name: str, value: str, function: Place | None, words: str, caution: str) -> Remedy:
    """Return a remedy that passes a different value for an argument of a compiled function."""
    if function is None or not name.isidentifier():
        return Remedy(words, caution=caution)
    # After a graph break, it is still the original function that gets the argument.
    called = replace(function, function=broken_function(function.function)[0])
    return Remedy(words, "argument", f"{name} = {value}", "", called, caution)


def in_order(remedies: Sequence[Remedy]) -> tuple[Remedy, ...]:
    """Return remedies sorted: those that work first, those that failed a trial last."""
    return tuple(sorted(remedies, key=lambda remedy: STATUSES.index(remedy.status)))


def titled(remedies: Sequence[Remedy]) -> list[tuple[str, Remedy]]:
    """Return remedies in that order, each with its label: change, or, not; or none."""
    found = []
    for number, remedy in enumerate(in_order(remedies)):
        title = "not" if has_failed(remedy) else "or" if number else "change"
        found.append(("" if remedy.words.startswith("no change needed") else title, remedy))
    return found


def in_words(remedies: Sequence[Remedy]) -> str:
    """Return remedies as one instruction, without those that failed a trial.

    >>> in_words([Remedy("keep it as a tensor"), setting("torch.x = 1")])
    'keep it as a tensor, or set torch.x = 1'
    """
    told = [remedy.told for remedy in in_order(remedies) if not has_failed(remedy)]
    if told and told[0].startswith("no change needed"):
        return ". ".join([told[0], *(words[:1].upper() + words[1:] for words in told[1:])])
    return ", or ".join(told)


def has_failed(remedy: Remedy) -> bool:
    """Return true if a trial showed that this does not help or changes results."""
    return remedy.status in ("does not help", "changes results")


def diff_of(remedies: Sequence[Remedy]) -> str:
    """Return the diff of the first remedy that has one and has not failed; empty if none has."""
    return next((r.diff for r in in_order(remedies) if r.diff and not has_failed(r)), "")


_SETTING = re.compile(
    r"(?P<name>torch\.(?:_\w+|compiler)(?:\.\w+)*\.config(?:\.\w+)+)(?: ?= ?|`? to `?)"
    r"(?P<value>True|False|None|\d+(?:\.\d+)?|[\"'][\w-]*[\"'])"
)
_UNSET = re.compile(r"^unset (?P<name>[A-Z][A-Z0-9_]+)$")
_VARIABLE = re.compile(r"\b[Ss]et (?P<code>TORCH\w*=\w+)")


def settings_in(text: str) -> tuple[str, ...]:
    """Return the settings that a text names, as statements.

    >>> settings_in("Set `torch._dynamo.config.trace_autograd_ops = True` to trace it.")
    ('torch._dynamo.config.trace_autograd_ops = True',)
    >>> settings_in("Change `torch._dynamo.config.x` to `False`."), settings_in("It may be a bug.")
    (('torch._dynamo.config.x = False',), ())
    """
    found = (f"{part['name']} = {part['value']}" for part in _SETTING.finditer(text))
    return tuple(dict.fromkeys(found))


def _advised(hint: str) -> tuple[Remedy, ...]:
    """Return the settings and variables that one of torch's hints names."""
    lines = (setting(line, "set {}, as torch advises") for line in settings_in(hint))
    names = (found["code"] for found in _VARIABLE.finditer(hint))
    variables = (Remedy(f"set {code}, as torch advises", "environment", code) for code in names)
    return (*lines, *variables)


def of_words(words: str) -> tuple[Remedy, ...]:
    """Return the remedies in a sentence: its settings and variables; the rest is by hand.

    >>> [r.kind for r in of_words("call it outside, or set torch._dynamo.config.allow_rnn = True")]
    ['by hand', 'setting']
    >>> of_words("unset TORCHDYNAMO_DISABLE")[0].kind
    'environment'
    """
    unset = _UNSET.match(words)
    if unset is not None:
        return (Remedy(words, "environment", unset["name"]),)
    parts = words.split(", or ") if settings_in(words) else [words]
    found: list[Remedy] = []
    for part in parts:
        lines = settings_in(part)
        found += [Remedy(part, "setting", lines[0])] if len(lines) == 1 else by_hand(part)
    return tuple(found)


def with_hints(remedies: Sequence[Remedy], hints: Sequence[str]) -> tuple[Remedy, ...]:
    """Return remedies with the settings that torch's hints name, each once.

    Remedies that can be tried come first, ours before torch's.
    """
    known = {remedy.code for remedy in remedies}
    advised = dict.fromkeys(found for hint in hints for found in _advised(hint))
    new = [found for found in advised if found.code not in known]
    if remedies and remedies[0].words.startswith("no change needed"):
        return (*remedies, *new)
    ours = [remedy for remedy in remedies if remedy.kind != "by hand"]
    return (*ours, *new, *(remedy for remedy in remedies if remedy.kind == "by hand"))


def together(groups: Sequence[Sequence[Remedy]]) -> tuple[Remedy, ...]:
    """Return the remedies of one cause at several lines; an edit changes all of them."""

    def whole(remedy: Remedy) -> Remedy:
        same = (remedy.kind, remedy.words, remedy.target and remedy.target.file)
        parts = (
            other.diff
            for group in groups
            for other in group
            if (other.kind, other.words, other.target and other.target.file) == same
        )
        return replace(remedy, diff="\n".join(dict.fromkeys(filter(None, parts))))

    return tuple(whole(remedy) if remedy.kind == "edit" else remedy for remedy in groups[0])


def tried(remedy: Remedy, trial: Trial) -> Remedy:
    """Return a remedy with the result of its trial."""
    return replace(remedy, trial=trial)
