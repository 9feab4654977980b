# SPDX-License-Identifier: Apache-2.0
"""Advice on one graph break: its cause and its remedies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Match

from pellucid.dump.model.events import Break, Place

from .remedy import Remedy, of_words, setting
from .source import Program


@dataclass(frozen=True)
class Advice:
    """The cause of a break, and what to change."""

    cause: str
    remedies: tuple[Remedy, ...] = ()
    sure: str = "certain"
    kind: str = "break"
    with_hints: bool = True
    """False if the settings that torch's hints name do not help here."""


Make = Callable[["Match[str]", Break, Program, "Place | None"], Advice]


def said(cause: str, remedy: str = "", sure: str = "certain") -> Make:
    """Return a function that builds advice from these words, with the groups of the pattern."""

    def make(found: Match[str], event: Break, program: Program, place: Place | None) -> Advice:
        words = {name: value or "" for name, value in found.groupdict().items()}
        return Advice(cause.format(**words), of_words(remedy.format(**words)), sure=sure)

    return make


def told(cause: str, remedy: str = "", sure: str = "certain", kind: str = "break") -> Advice:
    """Return advice whose remedies are parsed from a sentence."""
    return Advice(cause, of_words(remedy), sure, kind)


def set_to(
    program: Program, place: Place | None, line: str, words: str = "", caution: str = ""
) -> Remedy:
    """Return a setting, with the diff that adds it to the program."""
    diff = "" if place is None else program.setting(place.file, line)
    return setting(line, words, diff, caution)
