"""A proven text has the variables of its code in their order, as `locals()` lists them."""

import subprocess
from typing import Tuple

import pytest
from pellucid.decompilation import prove_pyc

TIERS = ("recompiled", "relowered")
LATER = """def f(x):
    if not x:
        raise ValueError
        late = None
    early = 1
    late = 2
    return list(locals())
print(f(1))
"""
RESUMED = """def f(items):
    for item in items:
        try:
            found = int(item)
        except ValueError as error:
            text = str(error)
            continue
        total = found + 1
        if total:
            continue
        text = 'none'
    return list(locals())
print(f(['a', '-1', '4']))
"""
HIDDEN = """def f(items):
    for item in items:
        try:
            found = int(item)
        except ValueError as error:
            if item in str(error):
                continue
            raise
        names = [name for _, name in enumerate(items) if name]
        for each in names:
            try:
                total = int(each)
            except ValueError as error:
                total = 0
            if total > 5:
                return None
    return list(locals())
print(f(['a', '-1', '4']))
"""
NESTED = """def f(x):
    for a in x:
        with x as b, b as c:
            try:
                d = [e for e in b]
            except KeyError as g:
                h = lambda i: c
            else:
                j, (k, *l) = x
            finally:
                m: int = 0
                del a
        n += d[c:n]
    else:
        import o, p as q
    return [(r := s) for s in x], {t: u for t, u in r}
"""
COMPILED = """
import marshal, sys
code = compile(sys.stdin.read(), 'slots.py', 'exec', dont_inherit=True)
sys.stdout.buffer.write(marshal.dumps(code))
"""


def compiled(python: str, text: str) -> bytes:
    return subprocess.run(
        [python, "-c", COMPILED], input=text.encode(), stdout=subprocess.PIPE, check=True
    ).stdout


def output(python: str, text: str) -> bytes:
    return subprocess.run([python, "-c", text], stdout=subprocess.PIPE, check=True).stdout


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("text", [LATER, RESUMED], ids=["later", "resumed"])
def test_a_proven_text_lists_its_locals_in_order(
    any_python: Tuple[str, str], text: str, tier: str
) -> None:
    version, python = any_python
    wanted = (3, int(version.split(".")[1]))
    found, verdict = prove_pyc(compiled(python, text), tier, version=wanted)
    # Up to 3.9 a name gets no slot from code that never runs.
    assert verdict.at_least("equivalent") or wanted < (3, 10)
    if verdict.at_least("equivalent"):
        assert output(python, found.source) == output(python, text)


@pytest.mark.parametrize("tier", TIERS)
def test_slots_are_in_the_order_of_the_compiler(any_python: Tuple[str, str], tier: str) -> None:
    version, python = any_python
    wanted = (3, int(version.split(".")[1]))
    found, verdict = prove_pyc(compiled(python, NESTED), tier, version=wanted)
    assert verdict.at_least("equivalent"), verdict.reason
    assert "if False" not in found.source


@pytest.mark.parametrize("tier", TIERS)
def test_variables_of_comprehensions_have_their_places_too(
    any_python: Tuple[str, str], tier: str
) -> None:
    version, python = any_python
    wanted = (3, int(version.split(".")[1]))
    found, verdict = prove_pyc(compiled(python, HIDDEN), tier, version=wanted)
    assert verdict.at_least("equivalent") or wanted < (3, 10), verdict.reason
    if verdict.at_least("equivalent"):
        assert output(python, found.source) == output(python, HIDDEN)
