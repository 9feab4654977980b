# SPDX-License-Identifier: Apache-2.0
"""From live objects to source; :mod:`~pellucid.decompilation` first asks torch about them."""

import dataclasses
import types
from typing import Any, Callable, Dict, List, Optional

from pellucid import _core
from pellucid.code_objects import code_of
from pellucid.forms import proven_form
from pellucid.result import Decompilation, result_of
from pellucid.signature import with_defaults


def search_live(
    obj: Any,
    name: Optional[str],
    facts: Optional[Dict[str, List[str]]],
    names: Optional[Dict[str, str]] = None,
    revise: "Callable[[Decompilation], Decompilation]" = lambda found: found,
    layout: "Optional[Dict[str, Any]]" = None,
) -> Decompilation:
    """Decompile `obj` in the first form that is proven, using only the given facts.

    `names` maps globals to the names that the source shows for them: one-to-one, and without names
    that the code already uses. `revise` changes the text before it is judged. `layout` has options
    of `decompile`.
    """

    def written(forms: "Dict[str, int]", apart: bool = False) -> Decompilation:
        return revise(decompiled_live(obj, name, False, forms, facts, apart, names or {}, layout))

    found, verdict = proven_form(written, "best")
    if verdict.status != "unproven" or facts:
        return found
    # Equal literals in a text are one object. If the code has several, the others get names.
    if written({}, True).globals.keys() == written({}).globals.keys():
        return found
    other, better = proven_form(lambda forms: written(forms, True), "best")
    return other if better.status != "unproven" else found


def decompiled_live(
    obj: Any,
    name: Optional[str],
    unstructured: bool,
    forms: "Dict[str, int]",
    facts: "Optional[Dict[str, List[str]]]",
    apart: bool = False,
    names: "Optional[Dict[str, str]]" = None,
    layout: "Optional[Dict[str, Any]]" = None,
) -> Decompilation:
    """Decompile `obj` in the given forms; the other arguments are those of `search_live`."""
    code = shown = code_of(obj)
    if name is not None:
        code = shown = code.replace(co_name=name)
    shown_facts = facts
    if names:
        shown = code.replace(co_names=tuple(names.get(each, each) for each in code.co_names))
        shown_facts = facts and {k: [_shown(e, names) for e in v] for k, v in facts.items()}
    raw = _core.decompile_code(
        shown,
        unstructured=unstructured,
        forms=forms,
        facts=shown_facts,
        apart=apart,
        **(layout or {}),
    )
    found = result_of(raw, code, None, _facts=facts, _apart=apart)
    found.renamed.update({shown: real for real, shown in (names or {}).items()})
    function = getattr(obj, "__func__", obj)
    if isinstance(function, types.FunctionType):
        source, bindings = with_defaults(found.source, function)
        found = dataclasses.replace(found, source=source, globals={**found.globals, **bindings})
    return found


def _shown(name: str, names: "Dict[str, str]") -> str:
    """Return a global's name, or "module.attribute", as the source shows it."""
    module, dot, attribute = name.partition(".")
    return names.get(module, module) + dot + attribute
